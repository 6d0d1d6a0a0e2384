// Decisions as they are looked at later.
#include "services/dedup/api/convert.h"
#include "services/dedup/api/handlers.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::dedup {

StatusOr<v1::ListDecisionsResponse> Handlers::ListDecisions(
    const rpc::CallContext& call, const v1::ListDecisionsRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const DecisionQuery query, FromProto(request));
  WINNOW_ASSIGN_OR_RETURN(const DecisionPage page, history_.ListDecisions(call.deadline, query));
  return ToProto(query, page);
}

StatusOr<v1::ListTopCitedResponse> Handlers::ListTopCited(const rpc::CallContext& call,
                                                          const v1::ListTopCitedRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const TopQuery query, FromProto(request, parts_.clock.Now()));
  WINNOW_ASSIGN_OR_RETURN(const TopPage page, history_.ListTopCited(call.deadline, query));
  return ToProto(query, page);
}

StatusOr<v1::OverrideDecisionResponse> Handlers::OverrideDecision(
    const rpc::CallContext& call, const v1::OverrideDecisionRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(OverrideRequest said, FromProto(request));
  if (said.actor.empty()) said.actor = call.caller;
  WINNOW_ASSIGN_OR_RETURN(const Decision decision, history_.Override(call.deadline, said));
  return rpc::Respond(&v1::OverrideDecisionResponse::mutable_decision, ToProto(decision));
}

StatusOr<v1::ListReviewQueueResponse> Handlers::ListReviewQueue(
    const rpc::CallContext& call, const v1::ListReviewQueueRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const ReviewQuery query, FromProto(request));
  WINNOW_ASSIGN_OR_RETURN(const ReviewPage page, history_.ListReviewQueue(call.deadline, query));
  return ToProto(query, page);
}

StatusOr<v1::GetStatsResponse> Handlers::GetStats(const rpc::CallContext& call,
                                                  const v1::GetStatsRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const RangeQuery query, FromProto(request, parts_.clock.Now()));
  WINNOW_ASSIGN_OR_RETURN(const Stats stats,
                          history_.GetStats(call.deadline, query.ns, query.range));
  v1::GetStatsResponse response = ToProto(stats);
  const DecisionMetrics& done = parts_.metrics;
  v1::ServerStats& server = *response.mutable_server();
  *server.mutable_start_time() = ToTimestamp(start_time_);
  server.set_decided_count(done.decided.load());
  *server.mutable_mean_decide_time() = ToMeanTime(done.decide.MeanSeconds());
  *server.mutable_mean_compare_time() = ToMeanTime(done.compare.MeanSeconds());
  *server.mutable_mean_read_time() = ToMeanTime(done.read.MeanSeconds());
  *server.mutable_mean_write_time() = ToMeanTime(done.write.MeanSeconds());
  server.set_store_fallback_count(done.store_fallbacks.load());
  server.set_waiting_count(static_cast<int64_t>(worker_.waiting()));
  server.set_window_document_count(parts_.memory.documents.load());
  server.set_window_shortened_count(done.shortened.load());
  if (parts_.embedder != nullptr) {
    const EmbedderWorker::Counts counts = parts_.embedder->counts();
    *server.mutable_embedder() = ToProto(*parts_.meaning());
    server.set_embedder_fallback_count(done.embedder_fallbacks.load());
    server.set_embedding_hit_count(counts.hits);
    server.set_embedding_miss_count(counts.misses);
    server.set_embedding_failure_count(counts.failures);
    server.set_embedder_down(counts.is_down);
  }
  return response;
}

Status Handlers::WatchDecisions(const rpc::CallContext&, const v1::WatchDecisionsRequest& request,
                                DecisionWatch::Subscriber subscriber) {
  WINNOW_ASSIGN_OR_RETURN(WatchQuery query, FromProto(request));
  return watch_.Add(std::move(query), std::move(subscriber));
}

}  // namespace winnow::dedup
