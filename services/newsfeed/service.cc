#include "services/newsfeed/service.h"

#include <functional>

#include "services/newsfeed/handlers.h"
#include "services/newsfeed/service_category_rules.h"
#include "services/newsfeed/service_items.h"
#include "services/newsfeed/store.h"
#include "services/newsfeed/worker.h"
#include "services/newsfeed/worker_index.h"
#include "services/newsfeed/worker_projector.h"
#include "services/newsfeed/worker_search.h"
#include "services/platform/grpc/binder.h"
#include "services/platform/log.h"
#include "services/platform/timestamp.h"
#include "winnow/newsfeed/v1/newsfeed_service.grpc.pb.h"

namespace winnow::newsfeed {
namespace {

using rpc::Lane;
constexpr rpc::Method kListArticles{"winnow.newsfeed.v1.NewsFeedService/ListArticles"};
constexpr rpc::Method kCountNewArticles{"winnow.newsfeed.v1.NewsFeedService/CountNewArticles"};
constexpr rpc::Method kWatchArticles{"winnow.newsfeed.v1.NewsFeedService/WatchArticles"};
constexpr rpc::Method kGetArticle{"winnow.newsfeed.v1.NewsFeedService/GetArticle"};
constexpr rpc::Method kBatchUpsertArticles{"winnow.newsfeed.v1.NewsFeedService/BatchUpsertArticles",
                                           Lane::kWrite};
constexpr rpc::Method kDeleteArticle{"winnow.newsfeed.v1.NewsFeedService/DeleteArticle",
                                     Lane::kWrite};
constexpr rpc::Method kCreateCategory{"winnow.newsfeed.v1.NewsFeedService/CreateCategory",
                                      Lane::kWrite};
constexpr rpc::Method kBatchGetArticles{"winnow.newsfeed.v1.NewsFeedService/BatchGetArticles"};
constexpr rpc::Method kLookupArticle{"winnow.newsfeed.v1.NewsFeedService/LookupArticle"};
constexpr rpc::Method kIngestArticles{"winnow.newsfeed.v1.NewsFeedService/IngestArticles",
                                      Lane::kWrite};
constexpr rpc::Method kUndeleteArticle{"winnow.newsfeed.v1.NewsFeedService/UndeleteArticle",
                                       Lane::kWrite};
constexpr rpc::Method kUpdateCategory{"winnow.newsfeed.v1.NewsFeedService/UpdateCategory",
                                      Lane::kWrite};
constexpr rpc::Method kMoveCategory{"winnow.newsfeed.v1.NewsFeedService/MoveCategory",
                                    Lane::kWrite};
constexpr rpc::Method kDeleteCategory{"winnow.newsfeed.v1.NewsFeedService/DeleteCategory",
                                      Lane::kWrite};
constexpr rpc::Method kSearchArticles{"winnow.newsfeed.v1.NewsFeedService/SearchArticles"};
constexpr rpc::Method kGetFeedStats{"winnow.newsfeed.v1.NewsFeedService/GetFeedStats"};
constexpr rpc::Method kRefreshFeed{"winnow.newsfeed.v1.NewsFeedService/RefreshFeed"};
constexpr rpc::Method kGetFeedStatus{"winnow.newsfeed.v1.NewsFeedService/GetFeedStatus"};
constexpr rpc::Method kListCategories{"winnow.newsfeed.v1.NewsFeedService/ListCategories"};

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

using HotService =
    v1::NewsFeedService::WithRawCallbackMethod_ListArticles<v1::NewsFeedService::CallbackService>;

class Service final : public HotService {
 public:
  Service(rpc::Runtime& runtime, Handlers& handlers) : binder_(runtime), handlers_(handlers) {}

  ServerUnaryReactor* ListArticles(CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override {
    return binder_.Raw<v1::ListArticlesRequest>(
        context, request, response, kListArticles,
        [this](const rpc::CallContext& call, const v1::ListArticlesRequest& r) {
          return handlers_.ListFromMemory(call, r);
        },
        [this](const rpc::CallContext& call, const v1::ListArticlesRequest& r) {
          return handlers_.ListArticles(call, r);
        });
  }
  ServerUnaryReactor* CountNewArticles(CallbackServerContext* context,
                                       const v1::CountNewArticlesRequest* request,
                                       v1::CountNewArticlesResponse* response) override {
    return Unary(context, request, response, kCountNewArticles, &Handlers::CountNewArticles);
  }
  grpc::ServerWriteReactor<v1::WatchArticlesResponse>* WatchArticles(
      CallbackServerContext* context, const v1::WatchArticlesRequest* request) override {
    return binder_.Watch<v1::WatchArticlesRequest, v1::WatchArticlesResponse>(
        context, request, kWatchArticles,
        [this](const rpc::CallContext& call, const v1::WatchArticlesRequest& r,
               const rpc::Subscriber<v1::WatchArticlesResponse>& subscriber) {
          return handlers_.WatchArticles(call, r, subscriber);
        });
  }
  ServerUnaryReactor* GetArticle(CallbackServerContext* context,
                                 const v1::GetArticleRequest* request,
                                 v1::GetArticleResponse* response) override {
    return Unary(context, request, response, kGetArticle, &Handlers::GetArticle);
  }
  ServerUnaryReactor* BatchUpsertArticles(CallbackServerContext* context,
                                          const v1::BatchUpsertArticlesRequest* request,
                                          v1::BatchUpsertArticlesResponse* response) override {
    return Unary(context, request, response, kBatchUpsertArticles, &Handlers::BatchUpsertArticles);
  }
  ServerUnaryReactor* DeleteArticle(CallbackServerContext* context,
                                    const v1::DeleteArticleRequest* request,
                                    v1::DeleteArticleResponse* response) override {
    return Unary(context, request, response, kDeleteArticle, &Handlers::DeleteArticle);
  }
  ServerUnaryReactor* CreateCategory(CallbackServerContext* context,
                                     const v1::CreateCategoryRequest* request,
                                     v1::CreateCategoryResponse* response) override {
    return Unary(context, request, response, kCreateCategory, &Handlers::CreateCategory);
  }
  ServerUnaryReactor* ListCategories(CallbackServerContext* context,
                                     const v1::ListCategoriesRequest* request,
                                     v1::ListCategoriesResponse* response) override {
    return Unary(context, request, response, kListCategories, &Handlers::ListCategories);
  }
  ServerUnaryReactor* BatchGetArticles(CallbackServerContext* context,
                                       const v1::BatchGetArticlesRequest* request,
                                       v1::BatchGetArticlesResponse* response) override {
    return Unary(context, request, response, kBatchGetArticles, &Handlers::BatchGetArticles);
  }
  ServerUnaryReactor* LookupArticle(CallbackServerContext* context,
                                    const v1::LookupArticleRequest* request,
                                    v1::LookupArticleResponse* response) override {
    return Unary(context, request, response, kLookupArticle, &Handlers::LookupArticle);
  }
  ServerUnaryReactor* UndeleteArticle(CallbackServerContext* context,
                                      const v1::UndeleteArticleRequest* request,
                                      v1::UndeleteArticleResponse* response) override {
    return Unary(context, request, response, kUndeleteArticle, &Handlers::UndeleteArticle);
  }
  ServerUnaryReactor* UpdateCategory(CallbackServerContext* context,
                                     const v1::UpdateCategoryRequest* request,
                                     v1::UpdateCategoryResponse* response) override {
    return Unary(context, request, response, kUpdateCategory, &Handlers::UpdateCategory);
  }
  ServerUnaryReactor* MoveCategory(CallbackServerContext* context,
                                   const v1::MoveCategoryRequest* request,
                                   v1::MoveCategoryResponse* response) override {
    return Unary(context, request, response, kMoveCategory, &Handlers::MoveCategory);
  }
  ServerUnaryReactor* DeleteCategory(CallbackServerContext* context,
                                     const v1::DeleteCategoryRequest* request,
                                     v1::DeleteCategoryResponse* response) override {
    return Unary(context, request, response, kDeleteCategory, &Handlers::DeleteCategory);
  }
  ServerUnaryReactor* SearchArticles(CallbackServerContext* context,
                                     const v1::SearchArticlesRequest* request,
                                     v1::SearchArticlesResponse* response) override {
    return Unary(context, request, response, kSearchArticles, &Handlers::SearchArticles);
  }
  ServerUnaryReactor* GetFeedStats(CallbackServerContext* context,
                                   const v1::GetFeedStatsRequest* request,
                                   v1::GetFeedStatsResponse* response) override {
    return Unary(context, request, response, kGetFeedStats, &Handlers::GetFeedStats);
  }
  ServerUnaryReactor* RefreshFeed(CallbackServerContext* context,
                                  const v1::RefreshFeedRequest* request,
                                  v1::RefreshFeedResponse* response) override {
    return Unary(context, request, response, kRefreshFeed, &Handlers::RefreshFeed);
  }
  ServerUnaryReactor* GetFeedStatus(CallbackServerContext* context,
                                    const v1::GetFeedStatusRequest* request,
                                    v1::GetFeedStatusResponse* response) override {
    return Unary(context, request, response, kGetFeedStatus, &Handlers::GetFeedStatus);
  }
  grpc::ServerBidiReactor<v1::IngestArticlesRequest, v1::IngestArticlesResponse>* IngestArticles(
      CallbackServerContext* context) override {
    return binder_.Ingest<v1::IngestArticlesRequest, v1::IngestArticlesResponse>(
        context, kIngestArticles, [this](const rpc::CallContext& call, auto requests) {
          return handlers_.IngestArticles(call, requests);
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

struct Settings {
  Micros max_future = std::chrono::minutes(10);
  Micros stale_after = std::chrono::minutes(10);
  size_t memory_articles = 1'000;
  size_t memory_feeds = 256;
};

// Defaults are filled in and checked by now (platform/config.h); an unset one keeps the default.
Settings ReadSettings(const config::v1::NewsFeed& config) {
  Settings settings;
  if (const auto max = FromDuration(config.max_future()); config.has_max_future() && max.ok()) {
    settings.max_future = *max;
  }
  if (const auto after = FromDuration(config.stale_after());
      config.has_stale_after() && after.ok()) {
    settings.stale_after = *after;
  }
  if (config.memory_articles() > 0) {
    settings.memory_articles = static_cast<size_t>(config.memory_articles());
  }
  if (config.memory_feeds() > 0) {
    settings.memory_feeds = static_cast<size_t>(config.memory_feeds());
  }
  return settings;
}

constexpr std::chrono::seconds kSeedTime(10);

// A namespace that has no category yet begins with those of the rules.
Status SeedCategories(Store& store, const CategoryRules& rules) {
  std::vector<Category> categories;
  for (const RuleCategory& rule : rules.categories()) {
    Category category;
    category.id = rule.id;
    category.display_name = rule.display_name;
    categories.push_back(std::move(category));
  }
  const Deadline deadline = std::chrono::steady_clock::now() + kSeedTime;
  return store.SeedCategories(deadline, categories[0].ns, categories).status();
}

struct State {
  State(Platform& platform, const Settings& settings)
      : metrics(platform.metrics),
        pages(platform.metrics),
        store(platform.reads, platform.writes, platform.logs, platform.clock,
              {.max_future = settings.max_future}),
        tree(platform.reads, platform.writes, platform.logs),
        tree_worker(tree, platform.metrics),
        index(platform.reads, platform.writes, platform.logs),
        index_worker(index, platform.metrics),
        search(platform.reads, platform.writes, platform.metrics),
        search_worker(
            search, [this] { return store.last_commit(); }, platform.metrics),
        stats(platform.reads),
        memory(settings.memory_articles, settings.memory_feeds),
        hub(platform.metrics),
        keeper(platform.reads, store, memory, hub, static_cast<int>(settings.memory_articles),
               platform.metrics),
        worker(store, metrics, rules),
        handlers(PartsOf(platform, settings), {.stale_after = settings.stale_after}),
        service(platform.runtime, handlers) {
    if (!projector) return;
    keeper.SetColdRead([this](const std::string& ns, const std::string& category) {
      return projector->Read(ns, category);
    });
  }
  // Makes those that a Redis brings, too.
  Handlers::Parts PartsOf(Platform& platform, const Settings& settings) {
    if (platform.redis != nullptr) {
      projections.emplace(platform.reads, platform.writes);
      projector.emplace(
          store, *projections, *platform.redis, platform.clock,
          ProjectorOptions{.adopt = platform.adopt_redis_keys, .stale_after = settings.stale_after},
          platform.metrics);
    }
    return {store,
            tree,
            tree_worker,
            search,
            stats,
            memory,
            keeper,
            platform.clock,
            metrics,
            pages,
            rules,
            projections ? &*projections : nullptr,
            projector ? &*projector : nullptr};
  }

  UpsertMetrics metrics;
  PageMetrics pages;
  CategoryRules rules = DefaultCategoryRules();
  Store store;
  TreeStore tree;
  TreeWorker tree_worker;
  IndexStore index;
  IndexWorker index_worker;
  SearchStore search;
  SearchWorker search_worker;
  StatsStore stats;
  FeedMemory memory;
  WatchHub hub;
  std::optional<ProjectionStore> projections;  // with a Redis only
  std::optional<Projector> projector;
  MemoryKeeper keeper;  // after the projector, which it reads
  Worker worker;
  Handlers handlers;
  Service service;
};

// While the store is away, what memory holds is still served: taking the process out would take
// that away too.
std::vector<rpc::Probe> Probes(Platform& platform, const FeedMemory& memory,
                               const std::optional<Projector>& projector) {
  const auto postgres = [&platform] { return platform.writes.Check(); };
  const auto feeds = [postgres, &memory] { return memory.empty() ? postgres() : OkStatus(); };
  std::vector<rpc::Probe> probes = {{"postgres", postgres, /*vital=*/false}, {"feeds", feeds}};
  if (platform.redis != nullptr) {
    probes.push_back({"redis", [&redis = *platform.redis] { return redis.Check(); }, false});
    probes.push_back({"redis_keys", [&projector] { return projector->CheckKeys(); }, false});
  }
  return probes;
}

}  // namespace

rpc::Target MakeNewsFeedTarget(Platform& platform) {
  auto state = std::make_shared<State>(platform, ReadSettings(platform.config.newsfeed()));
  StatusOr<CategoryRules> rules =
      LoadCategoryRules(platform.config.newsfeed().category_rules_file());
  const Status rules_status = rules.status();
  if (rules.ok()) state->rules = *std::move(rules);
  for (events::Consumer& consumer : state->worker.Consumers()) {
    platform.transport.AddConsumer(std::move(consumer));
  }
  rpc::Target target;
  target.name = "newsfeed";
  target.service_name = v1::NewsFeedService::service_full_name();
  target.grpc_service = &state->service;
  target.probes = Probes(platform, state->memory, state->projector);
  target.start = [&state = *state, rules_status](rpc::Peers& peers) -> Status {
    WINNOW_RETURN_IF_ERROR(rules_status);
    WINNOW_ASSIGN_OR_RETURN(const rpc::Peer collector, peers.Find("collector"));
    if (const Status seeded = SeedCategories(state.store, state.rules); !seeded.ok()) {
      log::Warn("the categories of the rules are made with the next start",
                {{"why", Message(seeded)}});
    }
    state.keeper.Start();
    state.tree_worker.Start();
    state.index_worker.Start();
    state.search_worker.Start();
    if (state.projector) state.projector->Start();
    state.worker.Start(ItemsOf(collector));
    return OkStatus();
  };
  target.stop = [&state = *state] {
    state.worker.Stop();
    if (state.projector) state.projector->Stop();
    state.search_worker.Stop();
    state.index_worker.Stop();
    state.tree_worker.Stop();
    state.keeper.Stop();
  };
  target.state = std::move(state);
  return target;
}

pg::Migrations NewsFeedMigrations() { return StoreMigrations(); }

}  // namespace winnow::newsfeed
