#include "services/dedup/worker_wait.h"

#include <latch>
#include <memory>

namespace winnow::dedup {

std::vector<StatusOr<Decision>> DecideAll(Worker& worker, std::vector<Job> jobs) {
  std::vector<StatusOr<Decision>> decisions(jobs.size());
  std::latch left(static_cast<std::ptrdiff_t>(jobs.size()));
  for (size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].done = [&decisions, &left, i](StatusOr<Decision> decision) {
      decisions[i] = std::move(decision);
      left.count_down();
    };
  }
  worker.Submit(std::move(jobs));
  left.wait();
  return decisions;
}

}  // namespace winnow::dedup
