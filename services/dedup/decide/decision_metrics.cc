#include "services/dedup/decide/decision_metrics.h"

#include "services/dedup/log/review.h"

namespace winnow::dedup {
namespace {

using std::chrono::duration;
using std::chrono::duration_cast;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// Microseconds to milliseconds: a comparison with a window.
const std::vector<double> kShortTimes = {1e-6, 2e-6,   5e-6, 1e-5, 2e-5,  5e-5,
                                         1e-4, 2.5e-4, 1e-3, 5e-3, 2.5e-2};

Counter& DecisionsBy(Metrics& metrics, const char* verdict, const char* stage) {
  return metrics.GetCounter("winnow_dedup_decisions_total", "Documents decided and stored.",
                            {{"verdict", verdict}, {"stage", stage}});
}

Histogram& StoreSeconds(Metrics& metrics, const char* step) {
  return metrics.GetHistogram("winnow_dedup_store_seconds",
                              "Statements of one batch, by step; the commit is not in it.",
                              Metrics::LatencyBuckets(), {{"step", step}});
}

Counter& Retries(Metrics& metrics, const char* what) {
  return metrics.GetCounter(
      "winnow_dedup_retries_total",
      "Tries after the first: to read items, to catch up with the log, to decide"
      " fewer documents at once.",
      {{"what", what}});
}

Counter& Fallbacks(Metrics& metrics, const char* level) {
  return metrics.GetCounter("winnow_dedup_fallback_total",
                            "Documents let through without a full decision.", {{"level", level}});
}

const char* KindOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kUnavailable:
      return "unavailable";
    case StatusCode::kDeadlineExceeded:
      return "deadline";
    case StatusCode::kResourceExhausted:
      return "overloaded";
    case StatusCode::kAborted:
      return "conflict";
    default:
      return "internal";
  }
}

}  // namespace

void Timing::Observe(steady_clock::duration time) {
  histogram_.Observe(duration<double>(time).count());
  ++count_;
  nanoseconds_ += duration_cast<nanoseconds>(time).count();
}

double Timing::MeanSeconds() const {
  const int64_t count = count_;
  return count == 0 ? 0
                    : static_cast<double>(nanoseconds_.load()) / 1e9 / static_cast<double>(count);
}

DecisionMetrics::DecisionMetrics(Metrics& metrics)
    : decide(metrics.GetHistogram("winnow_dedup_decide_seconds",
                                  "From a document's arrival at the server to its answer.",
                                  Metrics::LatencyBuckets())),
      compare(metrics.GetHistogram("winnow_dedup_compare_seconds",
                                   "Comparison of one document with the window.", kShortTimes)),
      read(StoreSeconds(metrics, "read")),
      write(StoreSeconds(metrics, "write")),
      batch_seconds(metrics.GetHistogram("winnow_dedup_batch_seconds",
                                         "From the lock of a namespace's log to the commit.",
                                         Metrics::LatencyBuckets())),
      batch_documents(metrics.GetHistogram("winnow_dedup_batch_documents",
                                           "Documents of one log transaction.",
                                           {1, 3, 10, 30, 100, 300, 1'000})),
      load_seconds(metrics.GetHistogram("winnow_dedup_window_load_seconds",
                                        "Load of a namespace's window, failed ones included.",
                                        {0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300})),
      turn_seconds(metrics.GetHistogram(
          "winnow_dedup_bulk_turn_seconds",
          "Wait of documents in bulk for their turn among instances that write to one namespace.",
          Metrics::LatencyBuckets())),
      item_retries(Retries(metrics, "items")),
      window_retries(Retries(metrics, "window")),
      slow_retries(Retries(metrics, "slow")),
      undecidable(metrics.GetCounter(
          "winnow_dedup_undecidable_total",
          "Documents given up, because comparing one alone takes too long.", {})),
      metrics_(metrics),
      similarity_(metrics.GetHistogram("winnow_dedup_similarity",
                                       "Similarity of a document's best candidate; 0 for none.",
                                       {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1})),
      by_stage_{{Stage::kNone, &DecisionsBy(metrics, "unique", "none")},
                {Stage::kUrl, &DecisionsBy(metrics, "duplicate", "url")},
                {Stage::kExact, &DecisionsBy(metrics, "duplicate", "exact")},
                {Stage::kToken, &DecisionsBy(metrics, "duplicate", "token")},
                {Stage::kLead, &DecisionsBy(metrics, "duplicate", "lead")},
                {Stage::kEdit, &DecisionsBy(metrics, "duplicate", "edit")},
                {Stage::kSemantic, &DecisionsBy(metrics, "duplicate", "semantic")}},
      store_fallbacks_total_(Fallbacks(metrics, "store")),
      embedder_fallbacks_total_(Fallbacks(metrics, "embedder")),
      shortened_total_(
          metrics.GetCounter("winnow_dedup_window_shortened_total",
                             "Parts of windows forgotten early, to keep within memory.")) {
  // Alerts on a rate need the series before the first error.
  for (const auto code :
       {StatusCode::kUnavailable, StatusCode::kDeadlineExceeded, StatusCode::kResourceExhausted,
        StatusCode::kAborted, StatusCode::kInternal}) {
    metrics.GetCounter("winnow_dedup_errors_total", "Documents that got no decision, by reason.",
                       {{"reason", KindOf(Status(code, ""))}});
  }
}

void DecisionMetrics::CountDecision(const Decision& decision) {
  ++decided;
  by_stage_.at(decision.stage)->Increment();
  similarity_.Observe(NearestOf(decision));
}

void DecisionMetrics::CountError(const Status& status) {
  metrics_
      .GetCounter("winnow_dedup_errors_total", "Documents that got no decision, by reason.",
                  {{"reason", KindOf(status)}})
      .Increment();
}

void DecisionMetrics::CountStoreFallback() {
  ++store_fallbacks;
  store_fallbacks_total_.Increment();
}

void DecisionMetrics::CountEmbedderFallback() {
  ++embedder_fallbacks;
  embedder_fallbacks_total_.Increment();
}

void DecisionMetrics::CountShortened() {
  ++shortened;
  shortened_total_.Increment();
}

}  // namespace winnow::dedup
