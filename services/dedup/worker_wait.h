#pragma once

#include <vector>

#include "services/dedup/worker.h"

namespace winnow::dedup {

// Submits the documents and waits for all decisions, in their order. Every job is answered by its
// deadline or soon after. Their `done` is set here.
std::vector<StatusOr<Decision>> DecideAll(Worker& worker, std::vector<Job> jobs);

}  // namespace winnow::dedup
