#include "tests/support/grpc/echo_service.h"

namespace winnow::test {
namespace {

constexpr rpc::Method kSay{"winnow.test.v1.EchoService/Say"};
constexpr rpc::Method kStore{"winnow.test.v1.EchoService/Store", rpc::MethodPool::kWrite};
constexpr rpc::Method kPing{"winnow.test.v1.EchoService/Ping", rpc::MethodPool::kInline};
constexpr rpc::Method kAwait{"winnow.test.v1.EchoService/Await"};
constexpr rpc::Method kTake{"winnow.test.v1.EchoService/Take", rpc::MethodPool::kWrite};
constexpr rpc::Method kWatch{"winnow.test.v1.EchoService/Watch"};

class EchoService final : public echo::EchoService::CallbackService {
 public:
  EchoService(rpc::Runtime& runtime, const EchoHandlers& handlers)
      : binder_(runtime), handlers_(handlers) {}

  grpc::ServerUnaryReactor* Say(grpc::CallbackServerContext* context,
                                const echo::SayRequest* request,
                                echo::SayResponse* response) override {
    return binder_.Unary(context, request, response, kSay, std::ref(handlers_.say));
  }
  grpc::ServerUnaryReactor* Store(grpc::CallbackServerContext* context,
                                  const echo::StoreRequest* request,
                                  echo::StoreResponse* response) override {
    return binder_.Unary(context, request, response, kStore, std::ref(handlers_.store));
  }
  grpc::ServerUnaryReactor* Ping(grpc::CallbackServerContext* context,
                                 const echo::PingRequest* request,
                                 echo::PingResponse* response) override {
    return binder_.Unary(context, request, response, kPing, std::ref(handlers_.ping));
  }
  grpc::ServerUnaryReactor* Await(grpc::CallbackServerContext* context,
                                  const echo::AwaitRequest* request,
                                  echo::AwaitResponse* response) override {
    return binder_.Deferred(context, request, response, kAwait, std::ref(handlers_.await));
  }
  grpc::ServerBidiReactor<echo::TakeRequest, echo::TakeResponse>* Take(
      grpc::CallbackServerContext* context) override {
    if (handlers_.take_ahead) {
      return binder_.IngestAhead<echo::TakeRequest, echo::TakeResponse>(
          context, kTake, std::ref(handlers_.take_ahead));
    }
    return binder_.Ingest<echo::TakeRequest, echo::TakeResponse>(context, kTake,
                                                                 std::ref(handlers_.take));
  }
  grpc::ServerWriteReactor<echo::WatchResponse>* Watch(grpc::CallbackServerContext* context,
                                                       const echo::WatchRequest* request) override {
    return binder_.Watch<echo::WatchRequest, echo::WatchResponse>(context, request, kWatch,
                                                                  std::ref(handlers_.watch));
  }

 private:
  rpc::Binder binder_;
  const EchoHandlers& handlers_;
};

}  // namespace

EchoHandlers PlainEcho() {
  EchoHandlers handlers;
  handlers.say = [](const rpc::CallContext& call, const echo::SayRequest& request) {
    echo::SayResponse response;
    response.set_text(request.text());
    response.set_caller(call.caller);
    response.set_request_id(call.request_id);
    response.set_trace_id(call.trace.trace_id);
    response.set_left_ms(call.TimeLeft().count());
    return response;
  };
  handlers.store = [](const rpc::CallContext&, const echo::StoreRequest& request) {
    echo::StoreResponse response;
    response.set_text(request.text());
    return response;
  };
  handlers.ping = [](const rpc::CallContext&, const echo::PingRequest& request) {
    echo::PingResponse response;
    response.set_text(request.text());
    return response;
  };
  handlers.await = [](const rpc::CallContext&, const echo::AwaitRequest& request,
                      const rpc::Completion<echo::AwaitResponse>& done) {
    echo::AwaitResponse response;
    response.set_text(request.text());
    done(response);
  };
  handlers.take = [](const rpc::CallContext&, std::span<const echo::TakeRequest> requests) {
    std::vector<echo::TakeResponse> responses(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      responses[i].set_text(requests[i].text());
      responses[i].set_batch(static_cast<int>(requests.size()));
    }
    return responses;
  };
  handlers.watch = [](const rpc::CallContext&, const echo::WatchRequest&,
                      const rpc::Subscriber<echo::WatchResponse>& subscriber) {
    subscriber.End(OkStatus());
    return OkStatus();
  };
  return handlers;
}

rpc::Target MakeEchoTarget(rpc::Runtime& runtime, const EchoHandlers& handlers) {
  auto service = std::make_shared<EchoService>(runtime, handlers);
  rpc::Target target;
  target.name = "echo";
  target.service_name = kEchoServiceName;
  target.grpc_service = service.get();
  target.state = service;
  return target;
}

}  // namespace winnow::test
