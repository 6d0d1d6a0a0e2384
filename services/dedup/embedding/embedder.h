#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/dedup/embedding/embedder_calibration.h"
#include "services/dedup/index/vector_field.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"

namespace winnow::dedup {

// Texts to vectors whose cosine measures how near their meanings are. Thread-safe.
class Embedder {
 public:
  virtual ~Embedder() = default;

  // Of the model: its cosines mean something by this alone.
  virtual const EmbedderCalibration& calibration() const = 0;

  // One vector a text, in their order; none is empty. Errors: UNAVAILABLE (away, or it failed often
  // of late), DEADLINE_EXCEEDED, FAILED_PRECONDITION (it answers what is not an embedding).
  virtual StatusOr<std::vector<index::Vector>> Embed(std::span<const std::string> texts,
                                                     Deadline deadline) = 0;
};

}  // namespace winnow::dedup
