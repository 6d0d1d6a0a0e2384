#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/dedup/decide/decision_waiter.h"
#include "services/dedup/decide/decision_worker.h"
#include "services/dedup/text/document.h"
#include "services/platform/postgres/pool/pool.h"
#include "services/platform/process/metrics.h"

// What dedup's integration tests share.
namespace winnow::test {

// URL of a new database with the schemas of collector and dedup.
std::string NewDedupDatabase();

const dedup::TextRules& BuiltInTextRules();

// An acceptable document of the namespace "default".
dedup::Document NewDocument(const std::string& id, const std::string& channel,
                            const std::string& title);

// A title that has nothing in common with that of any other number.
std::string StoryTitle(int number);

// One instance of the decider on a database, as a process would have it: pools and windows of its
// own.
class DedupInstance {
 public:
  // `embedder` outlives it; null: meaning is not compared.
  explicit DedupInstance(const std::string& url, const dedup::Policy& policy = {},
                         int64_t max_documents = 4'000'000,
                         dedup::EmbedderWorker* embedder = nullptr,
                         const dedup::JudgeLimits& limits = {});
  ~DedupInstance();

  // Waits for the decisions.
  std::vector<StatusOr<dedup::Decision>> Submit(std::vector<dedup::Document> documents,
                                                bool is_urgent = false, bool is_item = false);
  StatusOr<dedup::Decision> SubmitOne(const dedup::Document& document);
  StatusOr<dedup::Decision> Check(const dedup::Document& document);

  int64_t documents_in_memory() const { return memory_.documents.load(); }
  pg::Pool& pool() { return reads_; }
  pg::Pool& logs() { return logs_; }
  std::string RenderMetrics() const { return metrics_.Render(); }
  dedup::DecisionWorker& worker() { return worker_; }
  dedup::DecisionJob JobOf(const dedup::Document& document) const;
  const dedup::DecisionParts& parts() const { return parts_; }

 private:
  SystemClock clock_;
  Metrics metrics_;
  pg::Pool reads_;
  pg::Pool logs_;
  dedup::DecisionMetrics worker_metrics_;
  dedup::MemoryBudget memory_;
  dedup::LoadBudget loads_;
  dedup::DecisionParts parts_;
  dedup::DecisionWorker worker_;
};

// Decides the whole log of a namespace again, one document after the other in order of seq, each by
// the version of the rules that its decision names, and gives what differs from the decisions.
// `meaning`: of the model that made the vectors; null: there was none.
std::vector<std::string> DifferencesFromReplay(pg::Pool& pool, const std::string& ns,
                                               const dedup::EmbedderCalibration* meaning = nullptr);

}  // namespace winnow::test
