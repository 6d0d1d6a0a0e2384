#pragma once

namespace winnow::rpc {

// Ends what listens on `port` in this process, and every connection that was made to it. gRPC ends
// a call that arrives while its server shuts down with a bare CANCELLED, which its caller takes for
// his own doing; a connection that is gone is UNAVAILABLE, to be tried again elsewhere.
void CutConnections(int port);

}  // namespace winnow::rpc
