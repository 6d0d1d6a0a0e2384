#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/dedup/log/decision.h"

// Decisions as they are looked at later: listed, counted, corrected. Times are arrivals.
namespace winnow::dedup {

inline constexpr std::chrono::hours kUsualRange{24};
inline constexpr std::chrono::hours kLongestRange{24 * 31};
inline constexpr int kMaxDecisionsScanned = 10'000;
inline constexpr int kMaxChannelsTold = 1'000;

// From (inclusive) to until (exclusive); an end that is not set is open.
struct TimeRange {
  std::optional<Time> from;
  std::optional<Time> until;
};

struct DecisionQuery {
  std::string ns;
  std::optional<Verdict> verdict;
  std::string channel;  // empty: any
  TimeRange range;
  int page_size = 0;
  int64_t before = 0;  // seq of the last one that was looked at; 0: from the newest
};

struct DecisionPage {
  std::vector<Decision> decisions;  // newest first
  std::optional<int64_t> next;      // where the next page goes on; absent at the end
};

struct CitedOriginal {
  std::string original_id;
  std::string channel;
  std::string url;
  Time arrival_time;
  int64_t duplicate_count = 0;
  int64_t channel_count = 0;
  Time last_duplicate_time;
};

struct TopQuery {
  std::string ns;
  TimeRange range;
  int page_size = 0;
  std::string filter;  // of the range as it was asked for
  // The last one of the page before; 0: there is none.
  int64_t after_count = 0;
  std::string after_id;
};

struct TopPage {
  std::vector<CitedOriginal> originals;
  bool has_more = false;
};

// What a person says.
struct OverrideRequest {
  std::string ns;
  std::string document_id;
  Verdict verdict = Verdict::kUnique;
  std::string original_id;
  std::string note;
  std::string actor;
  std::string request_id;  // empty: none
};

struct ReviewQuery {
  std::string ns;
  std::optional<ReviewKind> kind;
  int page_size = 0;
  int64_t before = 0;  // as DecisionQuery
};

struct ReviewItem {
  ReviewKind kind = ReviewKind::kDuplicate;
  int64_t seq = 0;
  Decision decision;
  std::string title;
  std::string candidate_title;
};

struct ReviewPage {
  std::vector<ReviewItem> items;
  std::optional<int64_t> next;
};

struct HourCount {
  Time start;
  int64_t documents = 0;
  int64_t duplicates = 0;
};

struct ChannelDecisions {
  std::string channel;
  int64_t documents = 0;
  int64_t duplicates = 0;
  int64_t firsts = 0;
};

struct ErrorCount {
  int64_t decisions = 0;  // of the kind
  int64_t reviewed = 0;
  int64_t wrong = 0;
  int64_t all = 0;  // decisions of the verdict, of which the kind is a part
};

struct Rate {
  double value = 0;
  double low = 0;
  double high = 1;
};
// Of wrong ones among all decisions of the verdict; those that are not of the kind count as right.
Rate EstimateOf(const ErrorCount& count);

inline constexpr int kSimilarityBuckets = 20;

struct SimilarityCount {
  int64_t unique = 0;
  int64_t duplicates = 0;
};

struct Stats {
  std::vector<HourCount> hours;
  std::vector<ChannelDecisions> channels;
  std::vector<std::pair<Stage, int64_t>> stages;
  SimilarityCount similarities[kSimilarityBuckets];
  ErrorCount false_positives;
  ErrorCount false_negatives;
};

}  // namespace winnow::dedup
