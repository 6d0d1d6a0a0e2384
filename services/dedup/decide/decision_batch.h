#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "services/dedup/decide/decision_job.h"
#include "services/dedup/decide/decision_parts.h"
#include "services/dedup/judge/namespace_window.h"
#include "services/dedup/log/log_store.h"
#include "services/platform/postgres/log/log_transaction.h"

namespace winnow::dedup {

// Decides the documents of one transaction, in order, under the lock of their namespace's log: as
// many of them as fit into the time that the lock may be held, at least one. Made afresh for each
// try of the transaction.
class DecisionBatch {
 public:
  DecisionBatch(const std::string& ns, std::span<DecisionJob* const> jobs, NamespaceWindow& window,
                const DecisionParts& parts)
      : ns_(ns),
        jobs_(jobs),
        window_(window),
        metrics_(parts.metrics),
        limits_(parts.limits),
        model_(parts.model()) {}

  // With the window up to date. Appends to the log what was not decided before.
  Status Run(pg::LogSession& log);

  // The decision of a job, once Run was OK; null when there was no time for it.
  const Decision* DecisionOf(const DecisionJob& job) const;
  // Run gave up: the comparisons alone took longer than the lock may be held.
  bool is_too_slow() const { return is_too_slow_; }
  // What Run appended.
  const std::vector<Decided>& decided() const { return decided_; }

 private:
  void ReadKnown(pg::Session& session);
  void JudgeNew(pg::LogSession& log);
  void JudgeOne(const DecisionJob& job, int64_t seq, Time arrival, Time now);
  Status NameCandidates(pg::Session& session);
  void FollowSpread(pg::Session& session);
  void DrawReviews();

  const std::string& ns_;
  std::span<DecisionJob* const> jobs_;
  NamespaceWindow& window_;
  DecisionMetrics& metrics_;
  const JudgeLimits limits_;
  const std::string model_;                // that made the vectors
  std::map<std::string, Decision> known_;  // by id: decided before
  // By id of a job: its place in decided_, where there was time for it.
  std::unordered_map<std::string_view, size_t> begun_;
  std::vector<Judgement> judgements_;                 // of decided_, by place
  std::map<std::string, std::string> root_channels_;  // by id of the original
  std::vector<Decided> decided_;
  bool is_too_slow_ = false;
};

// The decision that a judgement amounts to, but for the names of candidates.
Decision ToDecision(const DecisionJob& job, const Judgement& judged, const Policy& policy,
                    Time arrival, Time now);

// The seqs that a judgement speaks of.
void AddSeqs(const Judgement& judged, std::set<int64_t>& seqs);
// Fills in candidates and original by the names of their seqs. Error: INTERNAL when one is missing.
Status AddNames(const Judgement& judged, const std::map<int64_t, EntryName>& names,
                Decision& decision);

}  // namespace winnow::dedup
