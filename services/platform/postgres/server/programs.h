#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/platform/base/status.h"
#include "services/platform/postgres/server/account.h"

namespace winnow::pg {

// One installation of PostgreSQL's server programs.
struct Programs {
  std::string bin_dir;
  int major = 0;

  std::string Path(const std::string& program) const { return bin_dir + "/" + program; }
};

// Where to look: `versions_dir`/<any>/bin first, then the directories of `path` ("a:b").
struct ProgramSearch {
  std::string versions_dir = "/usr/lib/postgresql";
  std::string path;
};

// Every installation that `account` can run, in order of the search.
std::vector<Programs> FindPrograms(const ProgramSearch& search, const Account& account);

// The installation for `data_dir`: that of its cluster's version, or the newest for a new one.
// The error says what to install, or how to move the data to what is installed.
StatusOr<Programs> ChoosePrograms(const std::vector<Programs>& installed,
                                  std::optional<int> cluster_major, const std::string& data_dir);

}  // namespace winnow::pg
