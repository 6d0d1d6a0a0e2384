#pragma once

namespace winnow::test {

// Ends the timeline of the test binary's PostgreSQL and begins a new one, as a failover does: the
// server restarts as a standby and is promoted. Every connection is lost. Throws
// std::runtime_error when it fails.
void BeginNewHistory();

}  // namespace winnow::test
