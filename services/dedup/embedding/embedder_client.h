#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "services/dedup/embedding/embedder.h"
#include "services/platform/process/metrics.h"

namespace winnow::dedup {

// An OpenAI-compatible server of embeddings.
struct EmbedderOptions {
  std::string url{};    // of the API, e.g. "http://127.0.0.1:8000/v1": "/embeddings" is added
  std::string model{};  // one of Calibrations()
  std::string key{};    // bearer token; empty: none is sent
  size_t batch = 16;    // texts a request, at most
  std::chrono::milliseconds timeout{2'000};  // of a request
};

// Errors: INVALID_ARGUMENT for a model that is not calibrated, by its name, and for a bad URL.
StatusOr<std::unique_ptr<Embedder>> MakeHttpEmbedder(const EmbedderOptions& options,
                                                     Metrics& metrics);

// Why it is refused.
std::string UncalibratedModel(const std::string& model);

// The same with a calibration of the caller's, which is how one is measured. Error:
// INVALID_ARGUMENT for a bad URL.
StatusOr<std::unique_ptr<Embedder>> MakeHttpEmbedder(const EmbedderOptions& options,
                                                     const EmbedderCalibration& calibration,
                                                     Metrics& metrics);

// What `/v1/embeddings` answers, as vectors in the order of the request. Error: FAILED_PRECONDITION
// for what is not `count` embeddings of equal dimensions.
StatusOr<std::vector<index::Vector>> ParseEmbeddings(const std::string& body, size_t count);
// The request for these texts.
std::string EmbeddingRequest(const std::string& model, std::span<const std::string> texts);

}  // namespace winnow::dedup
