#include <chrono>
#include <memory>

#include "services/dedup/api/convert.h"
#include "services/dedup/api/handlers.h"
#include "services/dedup/decide/decision_waiter.h"
#include "services/dedup/decide/item_consumer.h"
#include "services/platform/grpc/errors/rpc_status.h"

namespace winnow::dedup {
namespace {

// A batch of a stream has this long: the stream itself may last for hours.
constexpr std::chrono::seconds kBatchTime{30};
// With more documents waiting, of all streams, a batch holds its thread until it is decided: then
// as many wait as there are threads for, and none is refused or kept beyond its time.
constexpr size_t kMaxWaitingAhead = 2'000;

// The document of a request, accepted. Error: INVALID_ARGUMENT with all violations.
template <class Request>
StatusOr<Document> DocumentOf(const Request& request, IdRule rule) {
  if (!request.has_document()) return InvalidField("document", "is required: set the document");
  Violations violations;
  Document document = FromProto(request.document(), "document", violations);
  Accept(document, rule, "document", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  return document;
}

struct Key {
  std::string ns;
  std::string id;
};

StatusOr<Key> KeyOf(const std::string& ns, const std::string& id, std::string id_field) {
  Key key{ns.empty() ? std::string(kDefaultNamespace) : ns, id};
  Violations violations;
  CheckNamespace(key.ns, "namespace", violations);
  CheckId(key.id, std::move(id_field), violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  return key;
}

// Whether the store, and not the document or this server, is why there is no decision.
bool IsStoreAway(const Status& status) {
  return ReasonOf(status) == Reason::kStoreUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded || status.code() == StatusCode::kAborted;
}

}  // namespace

Decision Handlers::Undecided(const Document& document) const {
  Decision decision;
  decision.ns = document.ns;
  decision.document_id = document.id;
  decision.channel = document.channel;
  decision.degradations = {Degradation::kStore};
  decision.decide_time = parts_.clock.Now();
  decision.arrival_time = document.arrival_time.value_or(decision.decide_time);
  return decision;
}

// A lost duplicate check is better than a lost document.
StatusOr<Decision> Handlers::OrLetThrough(StatusOr<Decision> decision,
                                          const Decision& undecided) const {
  if (decision.ok() || !IsStoreAway(decision.status())) return decision;
  parts_.metrics.CountStoreFallback();
  return undecided;
}

void Handlers::SubmitDocument(const rpc::CallContext& call,
                              const v1::SubmitDocumentRequest& request,
                              rpc::Completion<v1::SubmitDocumentResponse> done) {
  StatusOr<Document> document = DocumentOf(request, IdRule::kRequired);
  if (!document.ok()) return done(document.status());
  Decision undecided = Undecided(*document);
  std::vector<DecisionJob> jobs;
  jobs.push_back(JobOf(*std::move(document), parts_.rules, call.deadline));
  jobs.back().is_urgent = true;
  jobs.back().traceparent = ChildOf(call.trace).ToTraceparent();
  jobs.back().done = [this, done = std::move(done),
                      undecided = std::move(undecided)](StatusOr<Decision> decision) {
    decision = OrLetThrough(std::move(decision), undecided);
    if (!decision.ok()) return done(decision.status());
    v1::SubmitDocumentResponse response;
    *response.mutable_decision() = ToProto(*decision);
    done(std::move(response));
  };
  worker_.Submit(std::move(jobs));
}

// A batch of a stream from its documents to its answers.
struct Handlers::Ingesting {
  Ingesting(DecisionWorker& worker, std::function<void()> ready)
      : decisions(worker, std::move(ready)) {}

  std::string request_id;
  std::vector<v1::IngestDocumentsResponse> responses;
  std::vector<Decision> undecided;
  std::vector<size_t> places;  // of these among the responses
  DecisionWaiter decisions;
};

StatusOr<rpc::IngestAnswers<v1::IngestDocumentsResponse>> Handlers::IngestDocuments(
    const rpc::CallContext& call, std::span<const v1::IngestDocumentsRequest> requests,
    std::function<void()> ready) {
  const Deadline deadline = std::min(call.deadline, std::chrono::steady_clock::now() + kBatchTime);
  const std::string traceparent = ChildOf(call.trace).ToTraceparent();
  const auto batch = std::make_shared<Ingesting>(worker_, std::move(ready));
  batch->request_id = call.request_id;
  batch->responses.resize(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    StatusOr<Document> document = DocumentOf(requests[i], IdRule::kRequired);
    if (!document.ok()) {
      *batch->responses[i].mutable_error() = rpc::ToRpcStatus(document.status(), call.request_id);
      continue;
    }
    batch->undecided.push_back(Undecided(*document));
    batch->places.push_back(i);
    DecisionJob job = JobOf(*std::move(document), parts_.rules, deadline);
    job.traceparent = traceparent;
    batch->decisions.Add(std::move(job));
  }
  batch->decisions.Close();
  // Time for a model's answer runs from here: a batch behind another would lose it.
  if (parts_.embedder != nullptr || worker_.waiting() > kMaxWaitingAhead) batch->decisions.Wait();
  return [this, batch] { return AnswersOf(*batch); };
}

std::vector<v1::IngestDocumentsResponse> Handlers::AnswersOf(Ingesting& batch) const {
  for (size_t k = 0; k < batch.places.size(); ++k) {
    const auto decision = OrLetThrough(batch.decisions.Take(k), batch.undecided[k]);
    v1::IngestDocumentsResponse& response = batch.responses[batch.places[k]];
    if (decision.ok()) {
      *response.mutable_decision() = ToProto(*decision);
    } else {
      *response.mutable_error() = rpc::ToRpcStatus(decision.status(), batch.request_id);
    }
  }
  return std::move(batch.responses);
}

void Handlers::CheckDocument(const rpc::CallContext& call, const v1::CheckDocumentRequest& request,
                             rpc::Completion<v1::CheckDocumentResponse> done) {
  StatusOr<Document> document = DocumentOf(request, IdRule::kOptional);
  if (!document.ok()) return done(document.status());
  std::vector<DecisionJob> jobs;
  jobs.push_back(JobOf(*std::move(document), parts_.rules, call.deadline));
  jobs.back().is_remembered = false;
  jobs.back().is_urgent = true;
  jobs.back().done = [done = std::move(done)](const StatusOr<Decision>& decision) {
    if (!decision.ok()) return done(decision.status());
    v1::CheckDocumentResponse response;
    *response.mutable_decision() = ToProto(*decision);
    done(std::move(response));
  };
  worker_.Submit(std::move(jobs));
}

StatusOr<v1::GetDecisionResponse> Handlers::GetDecision(const rpc::CallContext& call,
                                                        const v1::GetDecisionRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const Key key,
                          KeyOf(request.namespace_(), request.document_id(), "document_id"));
  WINNOW_ASSIGN_OR_RETURN(const Decision decision,
                          store_.GetDecision(call.deadline, key.ns, key.id));
  return rpc::Respond(&v1::GetDecisionResponse::mutable_decision, ToProto(decision));
}

StatusOr<v1::ListDuplicatesResponse> Handlers::ListDuplicates(
    const rpc::CallContext& call, const v1::ListDuplicatesRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const DuplicateQuery query, FromProto(request));
  WINNOW_ASSIGN_OR_RETURN(const DuplicatePage page, store_.ListDuplicates(call.deadline, query));
  return ToProto(query, page);
}

StatusOr<v1::GetCitationsResponse> Handlers::GetCitations(const rpc::CallContext& call,
                                                          const v1::GetCitationsRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const Key key,
                          KeyOf(request.namespace_(), request.original_id(), "original_id"));
  WINNOW_ASSIGN_OR_RETURN(const Citations citations,
                          store_.GetCitations(call.deadline, key.ns, key.id));
  return ToProto(citations);
}

}  // namespace winnow::dedup
