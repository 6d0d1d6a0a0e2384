#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/bench/measure.h"

namespace winnow::bench {

// User and system time so far, which other work on the machine disturbs less than the clock.
struct Cpu {
  double self = 0;      // server and client of the ingest leg, or the bare leg's client
  double postgres = 0;  // all processes of the PostgreSQL server
};

// utime and stime of /proc/PID/stat in seconds when PID is `postmaster`, children that ended
// included, or a child of it; else 0.
inline double CpuOf(const std::filesystem::path& process, pid_t postmaster) {
  std::ifstream file(process / "stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(line.substr(name_end + 2));
  std::vector<std::string> fields;
  for (std::string field; rest >> field;) fields.push_back(field);
  const bool is_postmaster = process.filename() == std::to_string(postmaster);
  if (!is_postmaster && fields[1] != std::to_string(postmaster)) return 0;
  double ticks = std::stod(fields[11]) + std::stod(fields[12]);
  if (is_postmaster) ticks += std::stod(fields[13]) + std::stod(fields[14]);
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

inline Cpu CpuSoFar(pid_t postmaster) {
  Cpu cpu{CpuSeconds(), 0};
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos) {
      cpu.postgres += CpuOf(entry.path(), postmaster);
    }
  }
  return cpu;
}

// One way of storing so many rows, over all rounds.
class Leg {
 public:
  explicit Leg(int rows) : rows_(rows) {}

  // `run` gives its seconds.
  template <class Run>
  void Measure(pid_t postmaster, Run run) {
    const Cpu before = CpuSoFar(postmaster);
    seconds_.push_back(run());
    const Cpu after = CpuSoFar(postmaster);
    self_cpu_.push_back(after.self - before.self);
    postgres_cpu_.push_back(after.postgres - before.postgres);
  }
  double RowsPerSecond() const { return rows_ / Median(seconds_); }
  // Name, rows a second, microseconds of CPU a row: ours and PostgreSQL's.
  void Print(const char* name) const {
    std::printf("%-32s %8.0f %12.1f %12.1f\n", name, RowsPerSecond(),
                1e6 * Median(self_cpu_) / rows_, 1e6 * Median(postgres_cpu_) / rows_);
  }

 private:
  int rows_;
  std::vector<double> seconds_, self_cpu_, postgres_cpu_;
};

}  // namespace winnow::bench
