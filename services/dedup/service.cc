#include "services/dedup/service.h"

#include <algorithm>
#include <cmath>

#include "services/dedup/api/handlers.h"
#include "services/dedup/config.h"
#include "services/dedup/decide/item_consumer.h"
#include "services/dedup/text/embedded_text_rules.h"
#include "services/platform/base/embedded_file.h"
#include "services/platform/grpc/call/bind_methods.h"
#include "services/platform/grpc/errors/error_exit.h"
#include "services/platform/grpc/errors/rpc_status.h"
#include "services/platform/grpc/peers/peers.h"
#include "services/platform/process/machine_limits.h"
#include "services/platform/proto/timestamp.h"
#include "winnow/collector/v1/collector_service.grpc.pb.h"
#include "winnow/dedup/v1/dedup_service.grpc.pb.h"

namespace winnow::embedded {
extern const std::span<const File> dedup_migrations;
}

namespace winnow::dedup {
namespace {

#define WINNOW_SERVICE "winnow.dedup.v1.DedupService"

// A collector that hangs delays a delivery by this much, then another process of it is asked.
constexpr std::chrono::seconds kFetchTime{5};

class Service final : public v1::DedupService::CallbackService {
 public:
  Service(rpc::Runtime& runtime, Handlers& handlers) : binder_(runtime), handlers_(handlers) {}

  WINNOW_DEFERRED(SubmitDocument, kWrite, handlers_)
  WINNOW_INGEST_AHEAD(IngestDocuments, kWrite, handlers_)
  WINNOW_DEFERRED(CheckDocument, kRead, handlers_)
  WINNOW_UNARY(CompareDocuments, kRead, handlers_)
  WINNOW_UNARY(GetDecision, kRead, handlers_)
  WINNOW_UNARY(ListDuplicates, kRead, handlers_)
  WINNOW_UNARY(GetCitations, kRead, handlers_)
  WINNOW_UNARY(GetPolicy, kRead, handlers_)
  WINNOW_UNARY(UpdatePolicy, kWrite, handlers_)
  WINNOW_UNARY(PreviewPolicy, kRead, handlers_)
  WINNOW_UNARY(ListDecisions, kRead, handlers_)
  WINNOW_UNARY(ListTopCited, kRead, handlers_)
  WINNOW_UNARY(OverrideDecision, kWrite, handlers_)
  WINNOW_UNARY(ListReviewQueue, kRead, handlers_)
  WINNOW_UNARY(GetStats, kRead, handlers_)
  WINNOW_WATCH(WatchDecisions, kRead, handlers_)

 private:
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
  DecisionMetrics metrics;
  MemoryBudget memory;
  LoadBudget loads;
  StatusOr<std::unique_ptr<EmbedderWorker>> embedder;  // an error is returned by the target's start
  DecisionParts parts;
  DecisionStore store;
  HistoryStore history;
  DecisionWatch watch;
  DecisionWorker worker;
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
