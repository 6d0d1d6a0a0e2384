#include "services/app/serve/transport.h"

#include "services/platform/config/config.h"
#include "services/platform/events/amqp/amqp_transport.h"
#include "services/platform/events/core/in_process_transport.h"
#include "services/platform/process/secret_file.h"

namespace winnow::app {

StatusOr<std::unique_ptr<events::Transport>> MakeTransport(const config::v1::Config& config,
                                                           pg::Pool& pool, Metrics& metrics) {
  const auto& settings = config.events();
  if (settings.url() == "inprocess:") {
    events::InProcessOptions options;
    options.queue.max_deliveries = settings.max_deliveries();
    return std::make_unique<events::InProcessTransport>(pool, metrics, options);
  }
  events::AmqpOptions options;
  options.queue.max_deliveries = settings.max_deliveries();
  WINNOW_ASSIGN_OR_RETURN(options.address, events::ParseAmqpUrl(settings.url()));
  if (!settings.password_file().empty()) {
    WINNOW_ASSIGN_OR_RETURN(options.address.password,
                            ReadSecretFile(settings.password_file(), "events.password_file"));
  }
  options.address.ca_file = settings.ca_file();
  return std::make_unique<events::AmqpTransport>(pool, metrics, options);
}

}  // namespace winnow::app
