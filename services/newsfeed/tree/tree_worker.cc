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

TreeWorker::~TreeWorker() { Stop(); }

void TreeWorker::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void TreeWorker::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void TreeWorker::Wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  wake_.notify_all();
}

void TreeWorker::Loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    woken_ = false;
    lock.unlock();
    Work();
    lock.lock();
    wake_.wait_for(lock, kInterval, [this] { return stopping_ || woken_; });
  }
}

void TreeWorker::Work() {
  const auto unfinished = store_.Unfinished(steady_clock::now() + kShare);
  if (!unfinished.ok()) return failed_.Increment();
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
}

}  // namespace winnow::newsfeed
