#include "services/newsfeed/write/upsert_metrics.h"

namespace winnow::newsfeed {
namespace {

Counter& Outcome(Metrics& metrics, const char* outcome) {
  return metrics.GetCounter("winnow_newsfeed_articles_total",
                            "Articles sent, by what became of them", {{"outcome", outcome}});
}

}  // namespace

UpsertMetrics::UpsertMetrics(Metrics& metrics)
    : created_(Outcome(metrics, "created")),
      updated_(Outcome(metrics, "updated")),
      unchanged_(Outcome(metrics, "unchanged")),
      merged_(Outcome(metrics, "merged")),
      refused_(Outcome(metrics, "refused")) {}

void UpsertMetrics::Count(const StatusOr<Upserted>& result) {
  if (!result.ok()) return refused_.Increment();
  switch (result->outcome) {
    case UpsertOutcome::kCreated:
      return created_.Increment();
    case UpsertOutcome::kUpdated:
      return updated_.Increment();
    case UpsertOutcome::kUnchanged:
      return unchanged_.Increment();
    case UpsertOutcome::kMerged:
      return merged_.Increment();
  }
}

}  // namespace winnow::newsfeed
