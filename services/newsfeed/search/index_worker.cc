#include "services/newsfeed/search/index_worker.h"

#include <chrono>

#include "services/platform/process/log.h"

namespace winnow::newsfeed {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kStepTime(30);
// Between steps others get the log; after a failure, or when all is done, there is no hurry.
constexpr milliseconds kBetweenSteps(20);
constexpr std::chrono::minutes kInterval(10);
constexpr std::chrono::seconds kAfterFailure(10);

}  // namespace

IndexWorker::IndexWorker(IndexStore& store, Metrics& metrics)
    : store_(store),
      made_(metrics.GetCounter("winnow_newsfeed_index_articles_total",
                               "Articles whose words and keywords were made again, because they "
                               "were stored before these were kept, or by other rules.")),
      failed_(metrics.GetCounter("winnow_newsfeed_index_failures_total",
                                 "Times that making words and keywords again was put off.")),
      left_(metrics.GetGauge("winnow_newsfeed_index_left",
                             "Positions of the log whose articles are to be looked through for "
                             "missing words and keywords; 0 when that is done.")) {}

milliseconds IndexWorker::Step() {
  const auto step = store_.Continue(steady_clock::now() + kStepTime);
  if (!step.ok()) {
    failed_.Increment();
    log::Warn("the index of searches waits", {{"why", Message(step.status())}});
    return kAfterFailure;
  }
  made_.Increment(static_cast<double>(step->articles));
  left_.Set(static_cast<double>(step->left));
  return step->done ? milliseconds(kInterval) : kBetweenSteps;
}

}  // namespace winnow::newsfeed
