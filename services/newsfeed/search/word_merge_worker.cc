#include "services/newsfeed/search/word_merge_worker.h"

#include <chrono>

#include "services/platform/process/log.h"

namespace winnow::newsfeed {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kMergeTime(30);
// Often enough that the list is seldom full (1 MB, some 400 articles) before.
constexpr milliseconds kInterval(50);
// Then those who store merge as the list is full.
constexpr std::chrono::seconds kAfterFailure(60);

}  // namespace

WordMergeWorker::WordMergeWorker(SearchStore& store, const CommitPosition& last_commit,
                                 Metrics& metrics)
    : store_(store),
      last_commit_(last_commit),
      merged_(metrics.GetCounter("winnow_newsfeed_search_merged_pages_total",
                                 "Pages of 8 kB of words that were merged into the index of "
                                 "searches behind what callers do.")),
      failed_(metrics.GetCounter("winnow_newsfeed_search_merge_failures_total",
                                 "Times that this failed; storing articles then merges, too.")) {}

milliseconds WordMergeWorker::Step() {
  const int64_t position = last_commit_.Get();
  if (position <= merged_to_) return kInterval;
  const auto pages = store_.MergeWords(steady_clock::now() + kMergeTime);
  if (pages.status().code() == StatusCode::kDeadlineExceeded) return kInterval;  // goes on there
  if (!pages.ok()) {
    failed_.Increment();
    log::Warn("the index of searches is merged by those who store articles",
              {{"why", Message(pages.status())}});
    return kAfterFailure;
  }
  merged_to_ = position;
  merged_.Increment(static_cast<double>(*pages));
  return kInterval;
}

}  // namespace winnow::newsfeed
