#pragma once

namespace winnow::rpc {

// gRPC's own error lines become lines of our log. Once per process; later calls do nothing.
void RouteGrpcLog();

}  // namespace winnow::rpc
