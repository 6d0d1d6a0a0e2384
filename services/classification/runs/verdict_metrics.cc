#include "services/classification/runs/verdict_metrics.h"

namespace winnow::classification {
namespace {

constexpr const char* kStateNames[] = {"none",   "pending",  "running",
                                       "paused", "complete", "cancelled"};

}  // namespace

VerdictMetrics::VerdictMetrics(Metrics& metrics)
    : calls_(metrics.GetCounter("winnow_classification_model_calls_total",
                                "Calls of a remote model that runs made.")),
      cost_(metrics.GetCounter("winnow_classification_cost_micros_total",
                               "Cost of those calls, in millionths of the currency.")),
      cache_hits_(metrics.GetCounter("winnow_classification_cache_total",
                                     "Comments that a costly model was to judge, by whether it had "
                                     "judged the text before.",
                                     {{"outcome", "hit"}})),
      cache_misses_(metrics.GetCounter("winnow_classification_cache_total",
                                       "Comments that a costly model was to judge, by whether it "
                                       "had judged the text before.",
                                       {{"outcome", "miss"}})),
      disagreements_(metrics.GetCounter("winnow_classification_overrides_total",
                                        "Overrides, by whether the run agreed.",
                                        {{"agrees", "false"}})),
      agreements_(metrics.GetCounter("winnow_classification_overrides_total",
                                     "Overrides, by whether the run agreed.",
                                     {{"agrees", "true"}})),
      same_(metrics.GetCounter("winnow_classification_runs_compared_total",
                               "Comments of runs that became active, by whether the run before "
                               "judged them alike.",
                               {{"agrees", "true"}})),
      different_(metrics.GetCounter("winnow_classification_runs_compared_total",
                                    "Comments of runs that became active, by whether the run "
                                    "before judged them alike.",
                                    {{"agrees", "false"}})),
      created_(metrics.GetCounter("winnow_classification_comments_total", "Imported comments.",
                                  {{"outcome", "created"}})),
      updated_(metrics.GetCounter("winnow_classification_comments_total", "Imported comments.",
                                  {{"outcome", "updated"}})),
      skipped_(metrics.GetCounter("winnow_classification_comments_total", "Imported comments.",
                                  {{"outcome", "skipped"}})),
      scores_(metrics.GetHistogram("winnow_classification_score",
                                   "Probabilities that decided, of models: their drift.",
                                   {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1})) {
  for (size_t status = 1; status < kStatuses; ++status) {
    for (size_t source = 1; source < verdicts_[status].size(); ++source) {
      verdicts_[status][source] = &metrics.GetCounter(
          "winnow_classification_verdicts_total", "Verdicts that runs were given.",
          {{"status", NameOf(static_cast<CommentStatus>(status))},
           {"source", NameOf(static_cast<Source>(source))}});
    }
  }
  for (size_t kind = 1; kind < failures_.size(); ++kind) {
    failures_[kind] = &metrics.GetCounter("winnow_classification_failures_total",
                                          "Comments that runs abandoned, by kind of failure.",
                                          {{"kind", NameOf(static_cast<Failure>(kind))}});
  }
  for (size_t state = 3; state < ended_.size(); ++state) {
    ended_[state] = &metrics.GetCounter("winnow_classification_runs_total",
                                        "Runs that a worker ended or paused, by state.",
                                        {{"state", kStateNames[state]}});
  }
}

void VerdictMetrics::Count(const Outcome& outcome) {
  if (outcome.status == CommentStatus::kNone) {
    Counter* failures = failures_[static_cast<size_t>(outcome.failure)];
    if (failures != nullptr) failures->Increment();
    return;
  }
  Counter* verdicts =
      verdicts_[static_cast<size_t>(outcome.status)][static_cast<size_t>(outcome.source)];
  if (verdicts != nullptr) verdicts->Increment();
  if (outcome.source == Source::kModel && outcome.score >= 0) {
    scores_.Observe(static_cast<double>(outcome.score));
  }
}

void VerdictMetrics::CountCost(int64_t calls, int64_t micros) {
  calls_.Increment(static_cast<double>(calls));
  cost_.Increment(static_cast<double>(micros));
}

void VerdictMetrics::CountCache(size_t hits, size_t misses) {
  cache_hits_.Increment(static_cast<double>(hits));
  cache_misses_.Increment(static_cast<double>(misses));
}

void VerdictMetrics::CountAgreement(int64_t same, int64_t different) {
  same_.Increment(static_cast<double>(same));
  different_.Increment(static_cast<double>(different));
}

void VerdictMetrics::CountOverrides(int64_t changed, int64_t same) {
  disagreements_.Increment(static_cast<double>(changed));
  agreements_.Increment(static_cast<double>(same));
}

void VerdictMetrics::CountImported(int64_t created, int64_t updated, int64_t skipped) {
  created_.Increment(static_cast<double>(created));
  updated_.Increment(static_cast<double>(updated));
  skipped_.Increment(static_cast<double>(skipped));
}

void VerdictMetrics::RunEnded(RunState state) {
  Counter* ended = ended_[static_cast<size_t>(state)];
  if (ended != nullptr) ended->Increment();
}

}  // namespace winnow::classification
