#pragma once

#include <optional>
#include <set>
#include <string>

#include "services/app/import/report.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"

namespace winnow::app {

// Which import a checkpoint belongs to. An import of anything else begins at the first line.
struct ImportIdentity {
  std::string file;  // absolute path
  int64_t file_bytes = 0;
  int64_t file_modified_ns = 0;
  std::string address;
  std::string item_namespace;
  friend bool operator==(const ImportIdentity&, const ImportIdentity&) = default;
};

// How far an import came. It may lag behind: going on from an older one repeats writes that are
// idempotent, and counts what they stored as already present.
struct Checkpoint {
  ImportIdentity identity;
  int64_t last_line = 0;  // every line up to this one is settled or in `undecided`
  Time began;             // relative times go back from here
  Tally tally;
  std::set<std::string> undecided;  // ids of items that were stored and wait for their decision
};

// The default path of an import's checkpoint: $XDG_STATE_HOME/winnow or
// ~/.local/state/winnow. Absent when there is no such place.
std::optional<std::string> DefaultCheckpointPath(const ImportIdentity& identity);

// Absent if there is none of this import. A file that is damaged or of another import counts as
// none.
std::optional<Checkpoint> ReadCheckpoint(const std::string& path, const ImportIdentity& identity);

// Whether the file of --checkpoint may be replaced: absent, empty, or a checkpoint of whatever
// import.
Status CheckMayReplace(const std::string& path);

// Atomic: a kill at any moment leaves the old one or the new one.
Status WriteCheckpoint(const std::string& path, const Checkpoint& checkpoint);
void RemoveCheckpoint(const std::string& path);

}  // namespace winnow::app
