#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/platform/base/clock.h"

// What is counted by day.
namespace winnow::newsfeed {

inline constexpr int kKeptDays = 90;

enum class CounterKind { kCategory = 1, kSource = 2, kChannel = 3 };

struct DayCount {
  Time day;  // its midnight
  int64_t articles = 0;
  int64_t citations = 0;
};

struct FeedCounter {
  std::string key;
  int64_t articles = 0;
  int64_t citations = 0;
  std::vector<DayCount> days{};  // those with anything, oldest first
};

struct StatsQuery {
  std::string ns = "default";
  CounterKind kind = CounterKind::kCategory;
  Time from;  // the first day's midnight
  int limit = 20;
};

}  // namespace winnow::newsfeed
