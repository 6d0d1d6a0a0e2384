#include "services/newsfeed/worker_index.h"

#include <chrono>

#include "services/platform/log.h"

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

IndexWorker::~IndexWorker() { Stop(); }

void IndexWorker::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void IndexWorker::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void IndexWorker::Loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    milliseconds pause = kBetweenSteps;
    const auto step = store_.Continue(steady_clock::now() + kStepTime);
    if (!step.ok()) {
      failed_.Increment();
      log::Warn("the index of searches waits", {{"why", Message(step.status())}});
      pause = kAfterFailure;
    } else {
      made_.Increment(static_cast<double>(step->articles));
      left_.Set(static_cast<double>(step->left));
      if (step->done) pause = kInterval;
    }
    lock.lock();
    wake_.wait_for(lock, pause, [this] { return stopping_; });
  }
}

}  // namespace winnow::newsfeed
