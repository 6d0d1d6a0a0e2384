#include "services/platform/grpc/server/grpc_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <mutex>
#include <string>
#include <string_view>

#include "services/platform/process/log.h"

namespace winnow::rpc {
namespace {

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// What gRPC calls an error is mostly a peer's doing (a broken handshake, a port in use) and comes
// back to us as a status too.
void WriteLine(gpr_log_func_args* line) {
  log::Warn("grpc",
            {{"text", line->message}, {"file", BaseName(line->file)}, {"line", line->line}});
}

// Names fields whose bytes are no UTF-8, never what they hold.
void WriteProtobufLine(google::protobuf::LogLevel level, const char* file, int line,
                       const std::string& text) {
  if (level < google::protobuf::LOGLEVEL_ERROR) return;
  log::Warn("protobuf", {{"text", text}, {"file", BaseName(file)}, {"line", line}});
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
