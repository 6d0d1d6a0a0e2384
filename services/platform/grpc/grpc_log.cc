#include "services/platform/grpc/grpc_log.h"

#include <grpc/support/log.h>

#include <mutex>
#include <string_view>

#include "services/platform/log.h"

namespace winnow::rpc {
namespace {

// What gRPC calls an error is mostly a peer's doing (a broken handshake, a port in use) and comes
// back to us as a status too.
void WriteLine(gpr_log_func_args* line) {
  const std::string_view path = line->file;
  log::Warn(
      "grpc",
      {{"text", line->message}, {"file", path.substr(path.rfind('/') + 1)}, {"line", line->line}});
}

}  // namespace

void RouteGrpcLog() {
  static std::once_flag once;
  std::call_once(once, [] { gpr_set_log_function(WriteLine); });
}

}  // namespace winnow::rpc
