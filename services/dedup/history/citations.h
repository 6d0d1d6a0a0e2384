#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/dedup/log/decision.h"

// The history of an original: what repeated it.
namespace winnow::dedup {

inline constexpr int kDefaultPageSize = 50;
inline constexpr int kMaxPageSize = 1'000;
inline constexpr int kMaxChannelsCounted = 1'000;

struct Duplicate {
  int64_t seq = 0;
  std::string document_id;
  std::string channel;
  std::string url;
  double similarity = 0;
  Stage stage = Stage::kNone;
  Time arrival_time;
};

struct DuplicateQuery {
  std::string ns;
  std::string original_id;
  int page_size = kDefaultPageSize;
  int64_t after = 0;  // seq of the last one that was handed out; 0: from the start
};

struct DuplicatePage {
  std::vector<Duplicate> duplicates;  // earliest arrival first
  std::optional<int64_t> next;        // where the next page goes on; absent at the end
};

struct ChannelCount {
  std::string channel;
  int64_t count = 0;
};

struct Citations {
  int64_t duplicate_count = 0;
  int64_t channel_count = 0;           // the original's own included
  std::vector<ChannelCount> channels;  // of duplicates, most first, then by name
};

}  // namespace winnow::dedup
