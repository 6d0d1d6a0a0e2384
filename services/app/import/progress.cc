#include "services/app/import/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "services/app/client/terminal.h"

namespace winnow::app {
namespace {

constexpr auto kTerminalInterval = std::chrono::milliseconds(100);
constexpr auto kPlainInterval = std::chrono::seconds(2);
constexpr int kBarCells = 24;

size_t TerminalColumns() {
  winsize size = {};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

void Print(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

Progress::Progress(std::string title)
    : title_(std::move(title)), terminal_(isatty(STDERR_FILENO) == 1), next_(begun_) {
  if (!terminal_) next_ += kPlainInterval;
}

std::string Progress::Bar(const Tally& tally, int64_t read, std::optional<int64_t> total) const {
  std::string out = title_;
  if (total && *total > 0) {
    const double part = std::min(1.0, static_cast<double>(read) / static_cast<double>(*total));
    const int cells = static_cast<int>(part * kBarCells);
    if (terminal_) {
      out += " [" + std::string(static_cast<size_t>(cells), '#') +
             std::string(static_cast<size_t>(kBarCells - cells), '.') + "]";
    }
    out += ' ' + std::to_string(static_cast<int>(part * 100)) + " %";
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
  const auto now = static_cast<double>(tally.lines - std::max<int64_t>(lines_before_, 0));
  out += "  " + WithCommas(tally.lines) + " lines";
  if (seconds > 0.5) out += ", " + WithCommas(static_cast<int64_t>(now / seconds)) + "/s";
  if (tally.refused() > 0) out += ", " + WithCommas(tally.refused()) + " refused";
  if (tally.undecided() > 0) out += ", " + WithCommas(tally.undecided()) + " undecided";
  return out;
}

void Progress::Update(const Tally& tally, int64_t read, std::optional<int64_t> total) {
  if (lines_before_ < 0) lines_before_ = tally.lines;
  const auto now = Clock::now();
  if (now < next_) return;
  if (!terminal_) {
    next_ = now + kPlainInterval;
    Print(Bar(tally, read, total) + '\n');
    return;
  }
  next_ = now + kTerminalInterval;
  drawn_ = Bar(tally, read, total);
  // A line longer than the terminal would wrap, and then could not be drawn over.
  drawn_.resize(std::min(drawn_.size(), TerminalColumns() - 1));
  Print("\r\033[K" + drawn_);
}

void Progress::Note(std::string_view text) {
  if (terminal_ && !drawn_.empty()) {
    Print("\r\033[K" + std::string(text) + '\n' + drawn_);
  } else {
    Print(std::string(text) + '\n');
  }
}

void Progress::End() {
  if (terminal_ && !drawn_.empty()) Print("\r\033[K");
}

}  // namespace winnow::app
