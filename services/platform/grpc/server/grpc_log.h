#pragma once

namespace winnow::rpc {

// Error lines of gRPC and Protobuf become lines of our log. Once per process; later calls do
// nothing.
void RouteGrpcLog();

}  // namespace winnow::rpc
