#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace winnow::dedup {

// How long the calls of an embedder take of late, by their number of texts: it is the longest that
// was met, which a slower answer raises at once and each quicker one lowers by a sixteenth of the
// difference. Not thread-safe.
class EmbedderPace {
 public:
  using Time = std::chrono::nanoseconds;

  // `texts` from 1.
  void Learn(size_t texts, Time elapsed) {
    Time& known = times_[PlaceOf(texts)];
    known = std::max(elapsed, known - (known - elapsed) / kSlowness);
    known = std::max(known, Time(1));
  }

  // Of a call of so many texts, up to a factor of 2; nullopt before the first answer. Of a number
  // that was not met yet, what it takes at most if a text more costs no more than the one before.
  std::optional<Time> Of(size_t texts) const {
    const size_t own = PlaceOf(texts);
    if (times_[own] > Time(0)) return times_[own];
    std::optional<Time> least;
    for (size_t place = 0; place < times_.size(); ++place) {
      if (times_[place] == Time(0)) continue;
      Time most = times_[place];
      if (place < own) most = most * static_cast<int64_t>(texts) / (int64_t{1} << place);
      least = std::min(least.value_or(most), most);
    }
    return least;
  }

 private:
  static constexpr int kSlowness = 16;

  // 1, 2 to 3, 4 to 7, and so on.
  static size_t PlaceOf(size_t texts) {
    return std::min<size_t>(std::bit_width(texts) - 1, kPlaces - 1);
  }

  static constexpr size_t kPlaces = 16;
  std::array<Time, kPlaces> times_{};  // 0: not known
};

}  // namespace winnow::dedup
