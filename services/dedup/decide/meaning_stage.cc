#include "services/dedup/decide/meaning_stage.h"

#include <algorithm>
#include <chrono>
#include <iterator>

namespace winnow::dedup {
namespace {

using std::chrono::steady_clock;

// Documents that may wait for their vectors.
constexpr size_t kMaxWaiting = 20'000;
// With less left it is not asked at all: those asked with it would not be waited for either.
constexpr std::chrono::milliseconds kMinTime(100);

// When a document has to go on: what is left of its time then is for the decision itself.
Deadline GoesOnAt(const DecisionJob& job, std::chrono::milliseconds urgent_time) {
  const Deadline late = job.since + (job.deadline - job.since) * 2 / 3;
  return job.is_urgent ? std::min(late, job.since + urgent_time) : late;
}

}  // namespace

MeaningStage::MeaningStage(const DecisionParts& parts,
                           std::function<void(std::vector<DecisionJob>)> next)
    : parts_(parts), next_(std::move(next)) {}

MeaningStage::~MeaningStage() { Stop(); }

void MeaningStage::Start() {
  for (Queue* queue : {&urgent_, &bulk_}) {
    queue->thread = std::jthread([this, queue] { Run(*queue); });
  }
}

std::vector<DecisionJob> MeaningStage::Stop() {
  std::vector<DecisionJob> left;
  {
    std::lock_guard lock(mutex_);
    stop_.request_stop();
    for (Queue* queue : {&urgent_, &bulk_}) {
      std::move(queue->jobs.begin(), queue->jobs.end(), std::back_inserter(left));
      queue->jobs.clear();
    }
  }
  for (Queue* queue : {&urgent_, &bulk_}) {
    if (queue->thread.joinable()) queue->thread.join();
  }
  return left;
}

std::vector<DecisionJob> MeaningStage::Submit(std::vector<DecisionJob> jobs) {
  std::vector<DecisionJob> refused;
  {
    std::lock_guard lock(mutex_);
    for (DecisionJob& job : jobs) {
      Queue& queue = job.is_urgent ? urgent_ : bulk_;
      const bool has_room = !stop_.stop_requested() && queue.jobs.size() < kMaxWaiting;
      (has_room ? queue.jobs.emplace_back() : refused.emplace_back()) = std::move(job);
    }
  }
  changed_.notify_all();
  return refused;
}

size_t MeaningStage::waiting() const {
  std::lock_guard lock(mutex_);
  return urgent_.jobs.size() + bulk_.jobs.size();
}

void MeaningStage::Run(Queue& queue) {
  for (;;) {
    std::vector<DecisionJob> jobs = Take(queue);
    if (jobs.empty()) return;
    Embed(jobs, queue.caller);
    next_(std::move(jobs));
  }
}

// Empty when it is time to stop.
std::vector<DecisionJob> MeaningStage::Take(Queue& queue) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop_.get_token(), [&] { return !queue.jobs.empty(); });
  std::vector<DecisionJob> jobs;
  while (!queue.jobs.empty() && jobs.size() < parts_.embedder_batch) {
    jobs.push_back(std::move(queue.jobs.front()));
    queue.jobs.pop_front();
  }
  return jobs;
}

void MeaningStage::Embed(std::vector<DecisionJob>& jobs, EmbedderWorker::Caller caller) {
  const Deadline now = steady_clock::now();
  std::vector<std::string> texts;
  std::vector<DecisionJob*> asked;
  Deadline deadline = Deadline::max();
  for (DecisionJob& job : jobs) {
    // A title of nothing but boilerplate has no meaning to compare.
    if (job.print.normalized_title.empty()) continue;
    job.lacks_meaning = true;
    const Deadline goes_on = GoesOnAt(job, parts_.embedder_time);
    if (goes_on < now + kMinTime) continue;
    texts.push_back(job.print.normalized_title);
    asked.push_back(&job);
    deadline = std::min(deadline, goes_on);
  }
  if (!texts.empty()) {
    auto vectors = parts_.embedder->Embed(texts, deadline, caller);
    for (size_t i = 0; vectors.ok() && i < asked.size(); ++i) {
      asked[i]->print.vector = std::move((*vectors)[i]);
      asked[i]->lacks_meaning = false;
    }
  }
  for (const DecisionJob& job : jobs) {
    if (job.lacks_meaning) parts_.metrics.CountEmbedderFallback();
  }
}

}  // namespace winnow::dedup
