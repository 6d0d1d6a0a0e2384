#include "services/platform/events/dead_letters/dead_letter_target.h"

#include "services/platform/events/dead_letters/dead_letter_handlers.h"
#include "services/platform/grpc/call/bind_methods.h"
#include "winnow/events/v1/dead_letter_service.grpc.pb.h"

namespace winnow::rpc {
namespace {

namespace v1 = ::winnow::events::v1;
using events::DeadLetterHandlers;

#define WINNOW_SERVICE "winnow.events.v1.DeadLetterService"

class Service final : public v1::DeadLetterService::CallbackService {
 public:
  explicit Service(Platform& platform)
      : binder_(platform.runtime), handlers_(platform.transport.dead_letters(), platform.metrics) {}

  WINNOW_UNARY(ListDeadLetters, kRead, handlers_)
  WINNOW_UNARY(ReplayDeadLetters, kWrite, handlers_)
  WINNOW_UNARY(PurgeDeadLetters, kWrite, handlers_)

 private:
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
