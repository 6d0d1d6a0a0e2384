#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "services/app/import/report.h"

namespace winnow::app {

// Shows how far an import came: a bar that redraws itself on a terminal, otherwise a plain line now
// and then. On standard error, so that standard output holds the result alone.
class Progress {
 public:
  explicit Progress(std::string title);

  // Draws when it is time to. `read` and `total` are bytes of the file; no total for pipes.
  void Update(const Tally& tally, int64_t read, std::optional<int64_t> total);
  // A line above the bar.
  void Note(std::string_view text);
  // Leaves the last state on the screen.
  void End();

 private:
  using Clock = std::chrono::steady_clock;
  std::string Bar(const Tally& tally, int64_t read, std::optional<int64_t> total) const;

  const std::string title_;
  const bool terminal_;
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point next_;
  int64_t lines_before_ = -1;  // this run's: what a checkpoint brought is not a speed of now
  std::string drawn_;
};

}  // namespace winnow::app
