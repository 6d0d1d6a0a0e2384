#pragma once

#include <functional>
#include <string>
#include <vector>

#include "services/platform/grpc/call/binder.h"
#include "services/platform/grpc/peers/target.h"
#include "winnow/test/v1/echo_service.grpc.pb.h"

namespace winnow::test {

namespace echo = ::winnow::test::v1;

// What the echo service does for each of its methods; tests replace what they care about.
struct EchoHandlers {
  std::function<StatusOr<echo::SayResponse>(const rpc::CallContext&, const echo::SayRequest&)> say;
  std::function<StatusOr<echo::StoreResponse>(const rpc::CallContext&, const echo::StoreRequest&)>
      store;
  std::function<StatusOr<echo::PingResponse>(const rpc::CallContext&, const echo::PingRequest&)>
      ping;
  std::function<void(const rpc::CallContext&, const echo::AwaitRequest&,
                     rpc::Completion<echo::AwaitResponse>)>
      await;
  std::function<StatusOr<std::vector<echo::TakeResponse>>(const rpc::CallContext&,
                                                          std::span<const echo::TakeRequest>)>
      take;
  // In its place, where it is set.
  std::function<StatusOr<rpc::IngestAnswers<echo::TakeResponse>>(
      const rpc::CallContext&, std::span<const echo::TakeRequest>, std::function<void()>)>
      take_ahead;
  std::function<Status(const rpc::CallContext&, const echo::WatchRequest&,
                       rpc::Subscriber<echo::WatchResponse>)>
      watch;
};

// Handlers that answer what was said.
EchoHandlers PlainEcho();

// A target named "echo" that calls `handlers`, which must outlive it.
rpc::Target MakeEchoTarget(rpc::Runtime& runtime, const EchoHandlers& handlers);

inline constexpr const char* kEchoServiceName = "winnow.test.v1.EchoService";

}  // namespace winnow::test
