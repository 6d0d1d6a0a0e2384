#include "services/dedup/service.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "services/dedup/handlers.h"
#include "services/dedup/service_config.h"
#include "services/dedup/service_text_rules.h"
#include "services/dedup/worker_items.h"
#include "services/platform/embedded.h"
#include "services/platform/grpc/binder.h"
#include "services/platform/grpc/error_exit.h"
#include "services/platform/grpc/peers.h"
#include "services/platform/grpc/rpc_status.h"
#include "services/platform/machine_limits.h"
#include "services/platform/timestamp.h"
#include "winnow/collector/v1/collector_service.grpc.pb.h"
#include "winnow/dedup/v1/dedup_service.grpc.pb.h"

namespace winnow::embedded {
extern const std::span<const File> dedup_migrations;
}

namespace winnow::dedup {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

constexpr rpc::Method kSubmitDocument{"winnow.dedup.v1.DedupService/SubmitDocument",
                                      rpc::Lane::kWrite};
constexpr rpc::Method kIngestDocuments{"winnow.dedup.v1.DedupService/IngestDocuments",
                                       rpc::Lane::kWrite};
constexpr rpc::Method kCheckDocument{"winnow.dedup.v1.DedupService/CheckDocument"};
constexpr rpc::Method kCompareDocuments{"winnow.dedup.v1.DedupService/CompareDocuments"};
constexpr rpc::Method kGetDecision{"winnow.dedup.v1.DedupService/GetDecision"};
constexpr rpc::Method kListDuplicates{"winnow.dedup.v1.DedupService/ListDuplicates"};
constexpr rpc::Method kGetCitations{"winnow.dedup.v1.DedupService/GetCitations"};

constexpr rpc::Method kGetPolicy{"winnow.dedup.v1.DedupService/GetPolicy"};
constexpr rpc::Method kUpdatePolicy{"winnow.dedup.v1.DedupService/UpdatePolicy", rpc::Lane::kWrite};
constexpr rpc::Method kPreviewPolicy{"winnow.dedup.v1.DedupService/PreviewPolicy"};

constexpr rpc::Method kListDecisions{"winnow.dedup.v1.DedupService/ListDecisions"};
constexpr rpc::Method kListTopCited{"winnow.dedup.v1.DedupService/ListTopCited"};
constexpr rpc::Method kOverrideDecision{"winnow.dedup.v1.DedupService/OverrideDecision",
                                        rpc::Lane::kWrite};
constexpr rpc::Method kListReviewQueue{"winnow.dedup.v1.DedupService/ListReviewQueue"};
constexpr rpc::Method kGetStats{"winnow.dedup.v1.DedupService/GetStats"};
constexpr rpc::Method kWatchDecisions{"winnow.dedup.v1.DedupService/WatchDecisions"};

// A collector that hangs delays a delivery by this much, then another process of it is asked.
constexpr std::chrono::seconds kFetchTime{5};

class Service final : public v1::DedupService::CallbackService {
 public:
  Service(rpc::Runtime& runtime, Handlers& handlers) : binder_(runtime), handlers_(handlers) {}

  ServerUnaryReactor* SubmitDocument(CallbackServerContext* context,
                                     const v1::SubmitDocumentRequest* request,
                                     v1::SubmitDocumentResponse* response) override {
    return binder_.Deferred(context, request, response, kSubmitDocument,
                            [this](const rpc::CallContext& call, const v1::SubmitDocumentRequest& r,
                                   rpc::Completion<v1::SubmitDocumentResponse> done) {
                              handlers_.SubmitDocument(call, r, std::move(done));
                            });
  }
  grpc::ServerBidiReactor<v1::IngestDocumentsRequest, v1::IngestDocumentsResponse>* IngestDocuments(
      CallbackServerContext* context) override {
    return binder_.IngestAhead<v1::IngestDocumentsRequest, v1::IngestDocumentsResponse>(
        context, kIngestDocuments,
        [this](const rpc::CallContext& call, auto requests, const std::function<void()>& ready) {
          return handlers_.IngestDocuments(call, requests, ready);
        });
  }
  ServerUnaryReactor* CheckDocument(CallbackServerContext* context,
                                    const v1::CheckDocumentRequest* request,
                                    v1::CheckDocumentResponse* response) override {
    return binder_.Deferred(context, request, response, kCheckDocument,
                            [this](const rpc::CallContext& call, const v1::CheckDocumentRequest& r,
                                   rpc::Completion<v1::CheckDocumentResponse> done) {
                              handlers_.CheckDocument(call, r, std::move(done));
                            });
  }
  ServerUnaryReactor* CompareDocuments(CallbackServerContext* context,
                                       const v1::CompareDocumentsRequest* request,
                                       v1::CompareDocumentsResponse* response) override {
    return Unary(context, request, response, kCompareDocuments, &Handlers::CompareDocuments);
  }
  ServerUnaryReactor* GetDecision(CallbackServerContext* context,
                                  const v1::GetDecisionRequest* request,
                                  v1::GetDecisionResponse* response) override {
    return Unary(context, request, response, kGetDecision, &Handlers::GetDecision);
  }
  ServerUnaryReactor* ListDuplicates(CallbackServerContext* context,
                                     const v1::ListDuplicatesRequest* request,
                                     v1::ListDuplicatesResponse* response) override {
    return Unary(context, request, response, kListDuplicates, &Handlers::ListDuplicates);
  }
  ServerUnaryReactor* GetCitations(CallbackServerContext* context,
                                   const v1::GetCitationsRequest* request,
                                   v1::GetCitationsResponse* response) override {
    return Unary(context, request, response, kGetCitations, &Handlers::GetCitations);
  }
  ServerUnaryReactor* GetPolicy(CallbackServerContext* context, const v1::GetPolicyRequest* request,
                                v1::GetPolicyResponse* response) override {
    return Unary(context, request, response, kGetPolicy, &Handlers::GetPolicy);
  }
  ServerUnaryReactor* UpdatePolicy(CallbackServerContext* context,
                                   const v1::UpdatePolicyRequest* request,
                                   v1::UpdatePolicyResponse* response) override {
    return Unary(context, request, response, kUpdatePolicy, &Handlers::UpdatePolicy);
  }
  ServerUnaryReactor* PreviewPolicy(CallbackServerContext* context,
                                    const v1::PreviewPolicyRequest* request,
                                    v1::PreviewPolicyResponse* response) override {
    return Unary(context, request, response, kPreviewPolicy, &Handlers::PreviewPolicy);
  }
  ServerUnaryReactor* ListDecisions(CallbackServerContext* context,
                                    const v1::ListDecisionsRequest* request,
                                    v1::ListDecisionsResponse* response) override {
    return Unary(context, request, response, kListDecisions, &Handlers::ListDecisions);
  }
  ServerUnaryReactor* ListTopCited(CallbackServerContext* context,
                                   const v1::ListTopCitedRequest* request,
                                   v1::ListTopCitedResponse* response) override {
    return Unary(context, request, response, kListTopCited, &Handlers::ListTopCited);
  }
  ServerUnaryReactor* OverrideDecision(CallbackServerContext* context,
                                       const v1::OverrideDecisionRequest* request,
                                       v1::OverrideDecisionResponse* response) override {
    return Unary(context, request, response, kOverrideDecision, &Handlers::OverrideDecision);
  }
  ServerUnaryReactor* ListReviewQueue(CallbackServerContext* context,
                                      const v1::ListReviewQueueRequest* request,
                                      v1::ListReviewQueueResponse* response) override {
    return Unary(context, request, response, kListReviewQueue, &Handlers::ListReviewQueue);
  }
  ServerUnaryReactor* GetStats(CallbackServerContext* context, const v1::GetStatsRequest* request,
                               v1::GetStatsResponse* response) override {
    return Unary(context, request, response, kGetStats, &Handlers::GetStats);
  }
  grpc::ServerWriteReactor<v1::WatchDecisionsResponse>* WatchDecisions(
      CallbackServerContext* context, const v1::WatchDecisionsRequest* request) override {
    return binder_.Watch<v1::WatchDecisionsRequest, v1::WatchDecisionsResponse>(
        context, request, kWatchDecisions,
        [this](const rpc::CallContext& call, const v1::WatchDecisionsRequest& r,
               DecisionWatch::Subscriber subscriber) {
          return handlers_.WatchDecisions(call, r, std::move(subscriber));
        });
  }

 private:
  template <class Request, class Response>
  ServerUnaryReactor* Unary(CallbackServerContext* context, const Request* request,
                            Response* response, const rpc::Method& method,
                            StatusOr<Response> (Handlers::*handler)(const rpc::CallContext&,
                                                                    const Request&)) {
    return binder_.Unary(context, request, response, method,
                         [this, handler](const rpc::CallContext& call, const Request& r) {
                           return std::invoke(handler, handlers_, call, r);
                         });
  }

  rpc::Binder binder_;
  Handlers& handlers_;
};

Document DocumentOf(const collector::v1::Item& item) {
  Document document;
  document.ns = item.namespace_();
  document.id = item.id();
  document.channel = item.channel();
  document.title = item.title();
  document.text = item.snippet();
  document.language = item.language();
  document.url = item.url();
  // Winnow's own timestamps: within range.
  if (item.has_publish_time()) document.publish_time = FromTimestamp(item.publish_time()).value();
  if (item.has_arrival_time()) document.arrival_time = FromTimestamp(item.arrival_time()).value();
  return document;
}

// Reads items by CollectorService's stub, wherever it runs.
FetchItems FetchFrom(const rpc::Peer& collector) {
  auto stub = std::make_shared<std::unique_ptr<collector::v1::CollectorService::Stub>>(
      collector::v1::CollectorService::NewStub(collector.channel()));
  return [stub, collector](
             const std::vector<std::string>& ids,
             const std::string& traceparent) -> StatusOr<std::vector<StatusOr<Document>>> {
    grpc::ClientContext context;
    collector.Prepare(context, rpc::BackgroundCall(kFetchTime, traceparent));
    collector::v1::BatchGetItemsRequest request;
    request.mutable_ids()->Assign(ids.begin(), ids.end());
    collector::v1::BatchGetItemsResponse response;
    WINNOW_RETURN_IF_ERROR(
        rpc::FromGrpcStatus((*stub)->BatchGetItems(&context, request, &response), "collector"));
    std::vector<StatusOr<Document>> documents;
    for (const collector::v1::GetItemResult& result : response.results()) {
      if (result.has_item()) {
        documents.emplace_back(DocumentOf(result.item()));
      } else {
        documents.emplace_back(rpc::FromRpcStatus(result.error()));
      }
    }
    return documents;
  };
}

struct State {
  explicit State(Platform& platform)
      : rules(LoadTextRules().value()),  // compiled in, and held by tests
        metrics(platform.metrics),
        embedder(MakeEmbedder(platform.config.dedup(), platform.metrics)),
        parts{rules,
              platform.clock,
              platform.reads,
              platform.logs,
              InitialPolicy(platform.config.dedup()),
              [&platform, this] {
                platform.transport.Wake(kSchema);
                watch.Wake();
              },
              metrics,
              memory,
              loads,
              embedder.ok() ? embedder->get() : nullptr,
              static_cast<size_t>(platform.config.dedup().embedder().batch_size()),
              EmbedderTime(platform.config.dedup())},
        store(platform.reads),
        history(platform.reads, platform.writes),
        watch(platform.reads),
        worker(parts, platform.metrics),
        items(worker, parts),
        handlers(store, history, worker, watch, parts),
        service(platform.runtime, handlers) {
    memory.max_documents = platform.config.dedup().max_documents();
    // The other half of the connections is for calls.
    const int cpus = std::max(1, static_cast<int>(std::ceil(ReadMachineLimits().cpus)));
    loads.free_threads = std::clamp(platform.config.postgres().read_connections() / 2, 1, cpus);
  }

  TextRules rules;
  WorkerMetrics metrics;
  MemoryBudget memory;
  LoadBudget loads;
  StatusOr<std::unique_ptr<CachedEmbedder>> embedder;  // an error is told by the target's start
  WorkerParts parts;
  Store store;
  History history;
  DecisionWatch watch;
  Worker worker;
  ItemConsumer items;
  Handlers handlers;
  Service service;
};

}  // namespace

rpc::Target MakeDedupTarget(Platform& platform) {
  auto state = std::make_shared<State>(platform);
  platform.transport.AddProducer(kSchema);
  platform.transport.AddConsumer(
      {.service = "dedup",
       .event = events::v1::ItemCollected::descriptor()->full_name(),
       // The target, which owns the state, outlives the deliveries.
       .deliver = [items = &state->items](auto envelopes) { return items->Deliver(envelopes); }});
  rpc::Target target;
  target.name = "dedup";
  target.service_name = v1::DedupService::service_full_name();
  target.grpc_service = &state->service;
  target.probes = {
      {"postgres", [&platform] { return platform.logs.Check(); }},
      {"events", [&platform] { return platform.transport.Check(); }},
      {"windows", [worker = &state->worker] { return worker->CheckStart(); }},
      {"every_window", [worker = &state->worker] { return worker->CheckEveryWindow(); },
       /*vital=*/false},
  };
  target.is_starting = [worker = &state->worker] { return !worker->CheckStart().ok(); };
  target.start = [state](rpc::Peers& peers) -> Status {
    WINNOW_RETURN_IF_ERROR(state->embedder.status());
    WINNOW_ASSIGN_OR_RETURN(const rpc::Peer collector, peers.Find("collector"));
    state->items.SetFetch(FetchFrom(collector));
    state->watch.Start();
    state->worker.Start();
    return OkStatus();
  };
  target.stop = [state] {
    state->items.Stop();
    state->worker.Stop();
    state->watch.Stop();
  };
  target.state = std::move(state);
  return target;
}

pg::Migrations DedupMigrations() { return {kSchema, embedded::dedup_migrations}; }

}  // namespace winnow::dedup
