#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

// Which host of the URL is the primary: a pure rule over what the hosts answered.
namespace winnow::pg {

// What a PostgreSQL host says about itself.
struct HostAnswer {
  std::string system;        // system identifier, unique to an initdb
  int64_t timeline = 0;      // rises by each promotion
  bool writable = false;     // not in recovery, not read-only by default
  std::string server_start;  // the same from two hosts: one server by two addresses
  // Systems that this database was accepted on, oldest first; the last must be its own. A dump
  // carries them along. Empty: none was recorded, the database was never migrated.
  std::vector<std::string> accepted;
};

// What the process has seen so far.
struct KnownPrimary {
  std::string system;  // empty: nothing yet
  std::vector<std::string> accepted;
  int64_t timeline = 0;        // the highest of the system, of any host
  std::optional<size_t> host;  // the one in use
};

enum class HostState {
  kUnreachable,
  kPrimary,      // in use, or an equally good address of the server in use
  kStandby,      // in recovery, or read-only
  kOldTimeline,  // accepts writes, but another host was promoted since
  kOtherSystem,  // a database that was not accepted on this system
  kConflict,     // one of several primaries on the same timeline
};
inline constexpr int kHostStates = 6;
const char* NameOf(HostState state);  // "old_timeline": a metric's label

struct PrimaryChoice {
  KnownPrimary known;  // `host`: nothing while there is no primary
  std::vector<HostState> states;
  std::string problem;  // why there is no primary, and what to do
};

// The highest timeline of the current system wins; a system gives way to another only where the
// database was accepted there after it (`winnow migrate --accept-system`). `names` and `answers`:
// one per host of the URL; no answer: unreachable.
PrimaryChoice ChoosePrimary(const KnownPrimary& known, std::span<const std::string> names,
                            std::span<const std::optional<HostAnswer>> answers);

}  // namespace winnow::pg
