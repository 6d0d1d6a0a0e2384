#include "services/platform/grpc/dead_letter_target.h"

#include <functional>

#include "services/platform/events/dead_letter_handlers.h"
#include "services/platform/grpc/binder.h"
#include "winnow/events/v1/dead_letter_service.grpc.pb.h"

namespace winnow::rpc {
namespace {

namespace v1 = ::winnow::events::v1;
using events::DeadLetterHandlers;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

constexpr Method kList{"winnow.events.v1.DeadLetterService/ListDeadLetters"};
constexpr Method kReplay{"winnow.events.v1.DeadLetterService/ReplayDeadLetters", Lane::kWrite};
constexpr Method kPurge{"winnow.events.v1.DeadLetterService/PurgeDeadLetters", Lane::kWrite};

class Service final : public v1::DeadLetterService::CallbackService {
 public:
  explicit Service(Platform& platform)
      : binder_(platform.runtime), handlers_(platform.transport.dead_letters(), platform.metrics) {}

  ServerUnaryReactor* ListDeadLetters(CallbackServerContext* context,
                                      const v1::ListDeadLettersRequest* request,
                                      v1::ListDeadLettersResponse* response) override {
    return Unary(context, request, response, kList, &DeadLetterHandlers::ListDeadLetters);
  }
  ServerUnaryReactor* ReplayDeadLetters(CallbackServerContext* context,
                                        const v1::ReplayDeadLettersRequest* request,
                                        v1::ReplayDeadLettersResponse* response) override {
    return Unary(context, request, response, kReplay, &DeadLetterHandlers::ReplayDeadLetters);
  }
  ServerUnaryReactor* PurgeDeadLetters(CallbackServerContext* context,
                                       const v1::PurgeDeadLettersRequest* request,
                                       v1::PurgeDeadLettersResponse* response) override {
    return Unary(context, request, response, kPurge, &DeadLetterHandlers::PurgeDeadLetters);
  }

 private:
  template <class Request, class Response>
  ServerUnaryReactor* Unary(CallbackServerContext* context, const Request* request,
                            Response* response, const Method& method,
                            StatusOr<Response> (DeadLetterHandlers::*handler)(const CallContext&,
                                                                              const Request&)) {
    return binder_.Unary(context, request, response, method,
                         [this, handler](const CallContext& call, const Request& r) {
                           return std::invoke(handler, handlers_, call, r);
                         });
  }

  Binder binder_;
  DeadLetterHandlers handlers_;
};

}  // namespace

Target MakeDeadLetterTarget(Platform& platform) {
  auto service = std::make_shared<Service>(platform);
  Target target;
  target.name = "events";
  target.service_name = v1::DeadLetterService::service_full_name();
  target.grpc_service = service.get();
  target.state = std::move(service);
  target.probes = {{"events", [&platform] { return platform.transport.Check(); }}};
  return target;
}

}  // namespace winnow::rpc
