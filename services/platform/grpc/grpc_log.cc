#include "services/platform/grpc/grpc_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <mutex>
#include <string>
#include <string_view>

#include "services/platform/log.h"

namespace winnow::rpc {
namespace {

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

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
  std::call_once(once, [] {
    gpr_set_log_function(WriteLine);
    google::protobuf::SetLogHandler(WriteProtobufLine);
  });
}

}  // namespace winnow::rpc
