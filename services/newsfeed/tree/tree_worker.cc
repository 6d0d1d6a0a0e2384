#include "services/newsfeed/tree/tree_worker.h"

#include <chrono>

#include "services/platform/process/log.h"

namespace winnow::newsfeed {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kInterval(10);  // between looks for what another process has left
constexpr seconds kShare(5);      // of a category before it is another's turn

}  // namespace

TreeWorker::TreeWorker(TreeStore& store, Metrics& metrics)
    : store_(store),
      moved_(metrics.GetCounter("winnow_newsfeed_tree_articles_total",
                                "Articles that followed a change of the category tree.")),
      failed_(metrics.GetCounter("winnow_newsfeed_tree_failures_total",
                                 "Times that following a change of the tree had to be put off.")) {}

std::chrono::milliseconds TreeWorker::Step() {
  const auto unfinished = store_.Unfinished(steady_clock::now() + kShare);
  if (!unfinished.ok()) {
    failed_.Increment();
    return kInterval;
  }
  for (const ArticleKey& category : *unfinished) {
    const auto progress = store_.Continue(steady_clock::now() + kShare, category);
    if (!progress.ok()) {
      failed_.Increment();
      log::Warn("a change of the category tree waits",
                {{"category", category.second}, {"why", Message(progress.status())}});
      continue;
    }
    moved_.Increment(static_cast<double>(progress->articles));
    if (!progress->done) Wake();
  }
  return kInterval;
}

}  // namespace winnow::newsfeed
