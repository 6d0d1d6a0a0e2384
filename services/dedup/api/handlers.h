#pragma once

#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "services/dedup/api/decision_watch.h"
#include "services/dedup/decide/decision_worker.h"
#include "services/dedup/history/decision_store.h"
#include "services/dedup/history/history_store.h"
#include "services/dedup/text/fingerprint.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/grpc/call/call_context.h"
#include "services/platform/grpc/call/handler.h"
#include "winnow/dedup/v1/dedup_service.pb.h"

namespace winnow::dedup {

// One method per RPC of DedupService; its proto says what each does.
class Handlers {
 public:
  Handlers(DecisionStore& store, HistoryStore& history, DecisionWorker& worker,
           DecisionWatch& watch, const DecisionParts& parts)
      : store_(store),
        history_(history),
        worker_(worker),
        watch_(watch),
        parts_(parts),
        start_time_(parts.clock.Now()) {}

  void SubmitDocument(const rpc::CallContext& call, const v1::SubmitDocumentRequest& request,
                      rpc::Completion<v1::SubmitDocumentResponse> done);
  // Begins; `ready` says that the answers are there.
  StatusOr<rpc::IngestAnswers<v1::IngestDocumentsResponse>> IngestDocuments(
      const rpc::CallContext& call, std::span<const v1::IngestDocumentsRequest> requests,
      std::function<void()> ready);
  void CheckDocument(const rpc::CallContext& call, const v1::CheckDocumentRequest& request,
                     rpc::Completion<v1::CheckDocumentResponse> done);
  WINNOW_HANDLER(CompareDocuments);
  WINNOW_HANDLER(GetDecision);
  WINNOW_HANDLER(ListDuplicates);
  WINNOW_HANDLER(GetCitations);
  WINNOW_HANDLER(GetPolicy);
  WINNOW_HANDLER(UpdatePolicy);
  WINNOW_HANDLER(PreviewPolicy);
  WINNOW_HANDLER(ListDecisions);
  WINNOW_HANDLER(ListTopCited);
  WINNOW_HANDLER(OverrideDecision);
  WINNOW_HANDLER(ListReviewQueue);
  WINNOW_HANDLER(GetStats);
  Status WatchDecisions(const rpc::CallContext& call, const v1::WatchDecisionsRequest& request,
                        DecisionWatch::Subscriber subscriber);

 private:
  struct Ingesting;

  std::vector<v1::IngestDocumentsResponse> AnswersOf(Ingesting& batch) const;
  // What a document that went undecided because the store is away is answered.
  StatusOr<Decision> OrLetThrough(StatusOr<Decision> decision, const Decision& undecided) const;
  Decision Undecided(const Document& document) const;

  DecisionStore& store_;
  HistoryStore& history_;
  DecisionWorker& worker_;
  DecisionWatch& watch_;
  const DecisionParts& parts_;
  const Time start_time_;
  std::mutex preview_;  // held while one runs: each has two windows in memory
};

}  // namespace winnow::dedup
