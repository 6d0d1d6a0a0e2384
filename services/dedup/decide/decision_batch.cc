#include "services/dedup/decide/decision_batch.h"

#include <algorithm>
#include <chrono>

#include "services/dedup/judge/spread.h"
#include "services/dedup/log/review.h"

namespace winnow::dedup {

using std::chrono::steady_clock;

Decision ToDecision(const DecisionJob& job, const Judgement& judged, const Policy& policy,
                    Time arrival, Time now) {
  Decision decision;
  decision.ns = job.document.ns;
  decision.document_id = job.document.id;
  decision.channel = job.document.channel;
  decision.verdict = judged.verdict;
  decision.similarity = judged.similarity;
  decision.stage = judged.stage;
  decision.policy_version = policy.version;
  if (job.lacks_meaning) decision.degradations.push_back(Degradation::kEmbedder);
  decision.arrival_time = arrival;
  decision.decide_time = now;
  return decision;
}

void AddSeqs(const Judgement& judged, std::set<int64_t>& seqs) {
  for (const JudgedCandidate& candidate : judged.candidates) {
    seqs.insert(candidate.seq);
    seqs.insert(candidate.root_seq);
  }
}

Status AddNames(const Judgement& judged, const std::map<int64_t, EntryName>& names,
                Decision& decision) {
  for (const JudgedCandidate& candidate : judged.candidates) {
    const auto name = names.find(candidate.seq);
    const auto root = names.find(candidate.root_seq);
    if (name == names.end() || root == names.end()) {
      return Internal("the log of namespace " + decision.ns + " lacks entry " +
                      std::to_string(name == names.end() ? candidate.seq : candidate.root_seq));
    }
    decision.candidates.push_back({name->second.document_id, root->second.document_id,
                                   name->second.channel, candidate.scores, candidate.stage,
                                   candidate.guards});
  }
  if (judged.is_duplicate()) decision.original_id = decision.candidates.front().original_id;
  return OkStatus();
}

Status DecisionBatch::Run(pg::LogSession& log) {
  const auto begun = steady_clock::now();
  ReadKnown(log.session());
  const auto read = steady_clock::now();
  JudgeNew(log);
  const auto judged = steady_clock::now();
  is_too_slow_ = judged - read > limits_.most;
  if (is_too_slow_) {
    return Internal("a batch of namespace " + ns_ +
                    " takes longer to compare than the lock of its log may be held");
  }
  WINNOW_RETURN_IF_ERROR(NameCandidates(log.session()));
  FollowSpread(log.session());
  DrawReviews();
  const auto named = steady_clock::now();
  InsertDecided(log.session(), ns_, decided_, model_);
  metrics_.read.Observe(named - judged + (read - begun));
  metrics_.write.Observe(steady_clock::now() - named);
  return OkStatus();
}

const Decision* DecisionBatch::DecisionOf(const DecisionJob& job) const {
  const auto known = known_.find(job.document.id);
  if (known != known_.end()) return &known->second;
  const auto begun = begun_.find(job.document.id);
  const bool is_decided = begun != begun_.end() && begun->second < decided_.size();
  return is_decided ? &decided_[begun->second].decision : nullptr;
}

void DecisionBatch::ReadKnown(pg::Session& session) {
  std::set<std::string> ids;
  for (const DecisionJob* job : jobs_) ids.insert(job->document.id);
  known_ = ReadDecisions(session, ns_, ids);
}

void DecisionBatch::JudgeNew(pg::LogSession& log) {
  const Time now = log.arrival_time();
  Time last = log.last_arrival();
  std::vector<size_t> fresh;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const std::string& id = jobs_[i]->document.id;
    if (!known_.contains(id) && begun_.emplace(id, fresh.size()).second) fresh.push_back(i);
  }
  decided_.reserve(fresh.size());
  judgements_.reserve(fresh.size());
  const auto until = steady_clock::now() + limits_.enough;
  for (const size_t i : fresh) {
    const DecisionJob& job = *jobs_[i];
    // An import's own time, but never in the future, and never before what is there.
    last = std::max(last, std::min(job.document.arrival_time.value_or(now), now));
    JudgeOne(job, log.Append(1), last, now);
    if (steady_clock::now() >= until) break;
  }
  if (!fresh.empty()) log.RaiseArrival(last);
}

void DecisionBatch::JudgeOne(const DecisionJob& job, int64_t seq, Time arrival, Time now) {
  const auto begun = steady_clock::now();
  Judgement judged = window_.Judge(job.print, job.document.channel, arrival);
  metrics_.compare.Observe(steady_clock::now() - begun);
  window_.Append(seq, job.print, job.document.channel, arrival, judged);
  Decided one;
  one.entry.seq = seq;
  one.entry.document_id = job.document.id;
  one.entry.channel = job.document.channel;
  one.entry.title = job.print.normalized_title;
  one.entry.lead = job.lead;
  one.entry.vector = job.print.vector;
  one.entry.canonical_url = job.document.canonical_url;
  one.entry.publish_time = job.document.publish_time;
  one.entry.arrival_time = arrival;
  one.entry.root_seq = judged.is_duplicate() ? judged.candidates.front().root_seq : seq;
  one.decision = ToDecision(job, judged, window_.policy(), arrival, now);
  one.decision.recorded = true;
  one.url = job.document.url;
  one.is_item = job.is_item;
  one.traceparent = job.traceparent;
  decided_.push_back(std::move(one));
  judgements_.push_back(std::move(judged));
}

Status DecisionBatch::NameCandidates(pg::Session& session) {
  std::set<int64_t> seqs;
  for (const Judgement& judged : judgements_) AddSeqs(judged, seqs);
  std::map<int64_t, EntryName> names;
  for (const Decided& one : decided_) {
    if (seqs.erase(one.entry.seq) > 0) {
      names[one.entry.seq] = {one.entry.document_id, one.entry.channel};
    }
  }
  names.merge(ReadNames(session, ns_, seqs));
  for (size_t i = 0; i < decided_.size(); ++i) {
    WINNOW_RETURN_IF_ERROR(AddNames(judgements_[i], names, decided_[i].decision));
    if (!judgements_[i].is_duplicate()) continue;
    const EntryName& root = names.at(decided_[i].entry.root_seq);
    root_channels_[root.document_id] = root.channel;
  }
  return OkStatus();
}

// Only items have events.
void DecisionBatch::FollowSpread(pg::Session& session) {
  Spread spread(window_.policy().citation_channels);
  if (!spread.is_asked_for()) return;
  std::set<std::string> originals;
  for (const Decided& one : decided_) {
    const std::string& original = one.decision.original_id;
    if (one.is_item && !original.empty()) originals.insert(original);
  }
  if (originals.empty()) return;
  for (const std::string& id : originals) spread.Know(id, {root_channels_.at(id)});
  for (auto& [id, channels] : ReadCitingChannels(session, ns_, originals)) {
    spread.Know(id, std::move(channels));
  }
  for (Decided& one : decided_) {
    if (one.decision.original_id.empty()) continue;
    const int reached = spread.Report(one.decision.original_id, one.decision.channel);
    if (one.is_item) one.channels_reached = reached;
  }
}

void DecisionBatch::DrawReviews() {
  for (Decided& one : decided_) {
    one.review = ReviewKindOf(one.decision);
    if (one.review && !IsDrawn(one.decision, window_.policy().review_rate)) one.review.reset();
  }
}

}  // namespace winnow::dedup
