#include "services/platform/postgres/server/programs.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "services/platform/postgres/server/process.h"

namespace winnow::pg {
namespace {

namespace fs = std::filesystem;

constexpr int kOldestMajor = 15;
constexpr std::chrono::seconds kVersionLimit(30);

// "postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)" -> 15
std::optional<int> ParseMajor(const std::string& version_line) {
  constexpr char kMark[] = "(PostgreSQL) ";
  const size_t at = version_line.find(kMark);
  if (at == std::string::npos) return std::nullopt;
  int major = 0;
  const char* end = version_line.data() + version_line.size();
  std::from_chars(version_line.data() + at + sizeof(kMark) - 1, end, major);
  if (major <= 0) return std::nullopt;
  return major;
}

std::optional<Programs> Probe(const fs::path& bin_dir, const Account& account) {
  std::error_code error;
  // PATH often holds links to single programs; initdb must find its siblings.
  const fs::path postgres = fs::canonical(bin_dir / "postgres", error);
  if (error || !fs::exists(postgres.parent_path() / "initdb", error)) return std::nullopt;
  StatusOr<Finished> version = Run({{postgres.string(), "--version"}, account}, kVersionLimit);
  if (!version.ok() || version->exit_code != 0) return std::nullopt;
  const std::optional<int> major = ParseMajor(version->output);
  if (!major) return std::nullopt;
  return Programs{postgres.parent_path().string(), *major};
}

std::vector<fs::path> Candidates(const ProgramSearch& search) {
  std::vector<fs::path> dirs;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(search.versions_dir, error)) {
    dirs.push_back(entry.path() / "bin");
  }
  std::sort(dirs.begin(), dirs.end());
  std::istringstream path(search.path);
  for (std::string dir; std::getline(path, dir, ':');) {
    if (dir.starts_with('/')) dirs.push_back(dir);
  }
  return dirs;
}

std::string Describe(const std::vector<Programs>& installed) {
  std::string text;
  for (const Programs& p : installed) {
    text += (text.empty() ? "" : ", ") + std::to_string(p.major) + " (" + p.bin_dir + ")";
  }
  return text.empty() ? "none" : text;
}

Status NotInstalled(const std::vector<Programs>& installed) {
  return FailedPrecondition("no PostgreSQL " + std::to_string(kOldestMajor) +
                            " or newer is installed (found: " + Describe(installed) +
                            "): install the package postgresql-15 (apt-get install postgresql-15), "
                            "or set a postgres:// URL");
}

Status Mismatch(const std::vector<Programs>& installed, int major, const std::string& data_dir) {
  const std::string version = std::to_string(major);
  const std::string old_bin = "/usr/lib/postgresql/" + version + "/bin";
  const std::string pg = data_dir + "/pg";
  return FailedPrecondition(
      "the data in " + pg + " was written by PostgreSQL " + version + ", which is not installed " +
      "(found: " + Describe(installed) + "). Install the package postgresql-" + version +
      " and start again; or move the data to a newer version, as the owner of " + pg + ":\n" +
      "  " + old_bin + "/pg_ctl -D '" + pg + "' -o \"-k /tmp -c listen_addresses=''\" -w start\n" +
      "  " + old_bin + "/pg_dumpall -h /tmp -U winnow > winnow-dump.sql\n" + "  " + old_bin +
      "/pg_ctl -D '" + pg + "' -w stop\n" + "  mv '" + pg + "' '" + pg + "." + version + "'\n" +
      "then start Winnow once, so that it makes a new cluster, stop it, and\n" + "  pg_ctl -D '" +
      pg + "' -o \"-k /tmp -c listen_addresses=''\" -w start\n" +
      "  psql -h /tmp -U winnow -d postgres -c 'DROP DATABASE winnow' -f winnow-dump.sql\n" +
      "  pg_ctl -D '" + pg + "' -w stop");
}

}  // namespace

std::vector<Programs> FindPrograms(const ProgramSearch& search, const Account& account) {
  std::vector<Programs> found;
  for (const fs::path& dir : Candidates(search)) {
    std::optional<Programs> programs = Probe(dir, account);
    if (!programs) continue;
    const bool known = std::any_of(found.begin(), found.end(), [&](const Programs& p) {
      return p.bin_dir == programs->bin_dir;
    });
    if (!known) found.push_back(*programs);
  }
  return found;
}

StatusOr<Programs> ChoosePrograms(const std::vector<Programs>& installed,
                                  std::optional<int> cluster_major, const std::string& data_dir) {
  const Programs* best = nullptr;
  for (const Programs& p : installed) {
    if (cluster_major ? p.major != *cluster_major : p.major < kOldestMajor) continue;
    if (best == nullptr || p.major > best->major) best = &p;
  }
  if (best != nullptr) return *best;
  return cluster_major ? Mismatch(installed, *cluster_major, data_dir) : NotInstalled(installed);
}

}  // namespace winnow::pg
