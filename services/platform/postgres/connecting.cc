#include "services/platform/postgres/connecting.h"

#include "services/platform/unless_stopped.h"

namespace winnow::pg {

std::unique_ptr<Connection> ConnectUnlessStopped(const ConnectionSettings& settings,
                                                 const std::stop_token& stop) {
  auto made = UnlessStopped(stop, Deadline::max(),
                            [settings] { return std::make_unique<Connection>(settings); });
  return made ? *std::move(made) : nullptr;
}

}  // namespace winnow::pg
