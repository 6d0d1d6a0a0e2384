#include "services/newsfeed/service.h"

#include "services/newsfeed/api/article_handlers.h"
#include "services/newsfeed/api/category_handlers.h"
#include "services/newsfeed/api/feed_handlers.h"
#include "services/newsfeed/labels/embedded_category_rules.h"
#include "services/newsfeed/projection/projection_worker.h"
#include "services/newsfeed/search/index_worker.h"
#include "services/newsfeed/search/word_merge_worker.h"
#include "services/newsfeed/write/item_consumer.h"
#include "services/newsfeed/write/items_client.h"
#include "services/newsfeed/write/write_store.h"
#include "services/platform/grpc/call/bind_methods.h"
#include "services/platform/process/log.h"
#include "services/platform/proto/timestamp.h"
#include "winnow/newsfeed/v1/newsfeed_service.grpc.pb.h"

namespace winnow::newsfeed {
namespace {

#define WINNOW_SERVICE "winnow.newsfeed.v1.NewsFeedService"

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

using HotService =
    v1::NewsFeedService::WithRawCallbackMethod_ListArticles<v1::NewsFeedService::CallbackService>;

class Service final : public HotService {
 public:
  Service(rpc::Runtime& runtime, FeedHandlers& feeds, ArticleHandlers& articles,
          CategoryHandlers& categories)
      : binder_(runtime), feeds_(feeds), articles_(articles), categories_(categories) {}

  WINNOW_METHOD(ListArticles, kRead);
  ServerUnaryReactor* ListArticles(CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override {
    return binder_.Raw<v1::ListArticlesRequest, FeedQuery>(
        context, request, response, kListArticles,
        [this](const rpc::CallContext&, const v1::ListArticlesRequest& r, FeedQuery& query) {
          return feeds_.ListFromMemory(r, query);
        },
        [this](const rpc::CallContext& call, const FeedQuery& query) {
          return feeds_.ListArticles(call, query);
        });
  }
  WINNOW_UNARY(CountNewArticles, kRead, feeds_)
  WINNOW_WATCH(WatchArticles, kRead, feeds_)
  WINNOW_UNARY(GetArticle, kRead, articles_)
  WINNOW_UNARY(BatchUpsertArticles, kWrite, articles_)
  WINNOW_UNARY(DeleteArticle, kWrite, articles_)
  WINNOW_UNARY(CreateCategory, kWrite, categories_)
  WINNOW_UNARY(ListCategories, kRead, categories_)
  WINNOW_UNARY(BatchGetArticles, kRead, articles_)
  WINNOW_UNARY(LookupArticle, kRead, articles_)
  WINNOW_UNARY(UndeleteArticle, kWrite, articles_)
  WINNOW_UNARY(UpdateCategory, kWrite, categories_)
  WINNOW_UNARY(MoveCategory, kWrite, categories_)
  WINNOW_UNARY(DeleteCategory, kWrite, categories_)
  WINNOW_UNARY(SearchArticles, kRead, feeds_)
  WINNOW_UNARY(GetFeedStats, kRead, feeds_)
  WINNOW_UNARY(RefreshFeed, kRead, feeds_)
  WINNOW_UNARY(GetFeedStatus, kRead, feeds_)
  WINNOW_INGEST(IngestArticles, kWrite, articles_)

 private:
  rpc::Binder binder_;
  FeedHandlers& feeds_;
  ArticleHandlers& articles_;
  CategoryHandlers& categories_;
};

struct Settings {
  Micros max_future = std::chrono::minutes(10);
  Micros stale_after = std::chrono::minutes(10);
  size_t memory_articles = 1'000;
  size_t memory_feeds = 256;
};

// Defaults are filled in and checked by now (platform/config/config.h); an unset one keeps the
// default.
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
Status SeedCategories(TreeStore& tree, const CategoryRules& rules) {
  std::vector<Category> categories;
  for (const RuleCategory& rule : rules.categories()) {
    Category category;
    category.id = rule.id;
    category.display_name = rule.display_name;
    categories.push_back(std::move(category));
  }
  const Deadline deadline = std::chrono::steady_clock::now() + kSeedTime;
  return tree.Seed(deadline, categories[0].ns, categories).status();
}

struct State {
  State(Platform& platform, const Settings& settings)
      : metrics(platform.metrics),
        pages(platform.metrics),
        articles(platform.reads),
        categories(platform.reads),
        feeds(platform.reads),
        status(platform.reads, feeds),
        writes(platform.writes, platform.logs, platform.clock, last_commit,
               {.max_future = settings.max_future}),
        tree(platform.reads, platform.writes, platform.logs, last_commit),
        tree_worker(tree, platform.metrics),
        index(platform.reads, platform.writes, platform.logs),
        index_worker(index, platform.metrics),
        search(platform.reads, platform.writes, platform.metrics),
        word_merge_worker(search, last_commit, platform.metrics),
        stats(platform.reads),
        memory(settings.memory_articles, settings.memory_feeds),
        watches(platform.metrics),
        memory_worker(platform.reads, feeds, memory, watches,
                      static_cast<int>(settings.memory_articles), platform.metrics),
        consumer(writes, categories, metrics, rules),
        feed_handlers(PartsOf(platform, settings), {.stale_after = settings.stale_after}),
        article_handlers(
            {articles, categories, writes, memory_worker, last_commit, metrics, rules}),
        category_handlers({categories, tree, tree_worker, memory_worker, last_commit}),
        service(platform.runtime, feed_handlers, article_handlers, category_handlers) {
    if (!projector) return;
    memory_worker.SetColdRead([this](const std::string& ns, const std::string& category) {
      return projector->Read(ns, category);
    });
  }
  // Makes those that a Redis brings, too.
  FeedHandlers::Parts PartsOf(Platform& platform, const Settings& settings) {
    if (platform.redis != nullptr) {
      projections.emplace(platform.reads, platform.writes);
      projector.emplace(feeds, categories, *projections, *platform.redis, platform.clock,
                        ProjectionWorkerOptions{.adopt = platform.adopt_redis_keys,
                                                .stale_after = settings.stale_after},
                        platform.metrics);
    }
    return {feeds,
            status,
            search,
            stats,
            memory,
            memory_worker,
            watches,
            platform.clock,
            pages,
            projections ? &*projections : nullptr,
            projector ? &*projector : nullptr};
  }

  UpsertMetrics metrics;
  PageMetrics pages;
  CategoryRules rules = DefaultCategoryRules();
  CommitPosition last_commit;
  ArticleStore articles;
  CategoryStore categories;
  FeedStore feeds;
  StatusStore status;
  WriteStore writes;
  TreeStore tree;
  TreeWorker tree_worker;
  IndexStore index;
  IndexWorker index_worker;
  SearchStore search;
  WordMergeWorker word_merge_worker;
  StatsStore stats;
  FeedMemory memory;
  WatchHub watches;
  std::optional<ProjectionStore> projections;  // with a Redis only
  std::optional<ProjectionWorker> projector;
  MemoryWorker memory_worker;  // after the projector, which it reads
  ItemConsumer consumer;
  FeedHandlers feed_handlers;
  ArticleHandlers article_handlers;
  CategoryHandlers category_handlers;
  Service service;
};

// While the store is away, what memory holds is still served: taking the process out would take
// that away too.
std::vector<rpc::Probe> Probes(Platform& platform, const FeedMemory& memory,
                               const std::optional<ProjectionWorker>& projector) {
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
  for (events::Consumer& consumer : state->consumer.Consumers()) {
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
    if (const Status seeded = SeedCategories(state.tree, state.rules); !seeded.ok()) {
      log::Warn("the categories of the rules are made with the next start",
                {{"why", Message(seeded)}});
    }
    state.memory_worker.Start();
    state.tree_worker.Start();
    state.index_worker.Start();
    state.word_merge_worker.Start();
    if (state.projector) state.projector->Start();
    state.consumer.Start(std::make_shared<ItemsClient>(collector));
    return OkStatus();
  };
  target.stop = [&state = *state] {
    state.consumer.Stop();
    if (state.projector) state.projector->Stop();
    state.word_merge_worker.Stop();
    state.index_worker.Stop();
    state.tree_worker.Stop();
    state.memory_worker.Stop();
  };
  target.state = std::move(state);
  return target;
}

pg::Migrations NewsFeedMigrations() { return StoreMigrations(); }

}  // namespace winnow::newsfeed
