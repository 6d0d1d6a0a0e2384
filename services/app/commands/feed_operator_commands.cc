#include "services/app/commands/feed_operator_commands.h"

#include <iomanip>
#include <iostream>
#include <map>
#include <string>

#include "services/app/client/client.h"
#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/commands/verb.h"
#include "winnow/newsfeed/v1/newsfeed_service.grpc.pb.h"

namespace winnow::app {
namespace {

using namespace newsfeed::v1;  // NOLINT(google-build-using-namespace): one service's messages

using Stub = NewsFeedService::Stub;

struct Options : VerbOptions {
  std::string item_namespace;
  std::string category;
  std::string query;
  std::string page_token;
  std::string by = "category";
  int count = 20;
  int days = 7;
};

StatusOr<int> RunSearch(const Options& options, const Interrupt&) {
  SearchArticlesRequest request;
  request.set_namespace_(options.item_namespace);
  request.set_query(options.query);
  request.set_page_size(options.count);
  request.set_page_token(options.page_token);
  WINNOW_ASSIGN_OR_RETURN(
      const auto page, CallOnce<NewsFeedService>(options.remote, &Stub::SearchArticles, request));
  if (options.json) return PrintJson(page);
  for (const Article& article : page.articles()) {
    if (!PrintArticle(article)) return kFailed;
  }
  if (page.articles().empty()) std::cout << "nothing found\n";
  PrintNextPage(page.next_page_token());
  return kOk;
}

StatusOr<int> RunStats(const Options& options, const Interrupt&) {
  static const std::map<std::string, StatsDimension> kDimensions = {
      {"category", STATS_DIMENSION_CATEGORY},
      {"source", STATS_DIMENSION_SOURCE},
      {"channel", STATS_DIMENSION_CHANNEL}};
  GetFeedStatsRequest request;
  request.set_namespace_(options.item_namespace);
  request.set_dimension(kDimensions.at(options.by));
  request.set_days(options.days);
  request.set_limit(options.count);
  WINNOW_ASSIGN_OR_RETURN(const auto stats,
                          CallOnce<NewsFeedService>(options.remote, &Stub::GetFeedStats, request));
  if (options.json) return PrintJson(stats);
  if (stats.counters().empty()) std::cout << "nothing counted\n";
  for (const FeedCounter& counter : stats.counters()) {
    std::cout << std::setw(10) << counter.article_count() + counter.citation_count() << "  "
              << counter.key() << '\n';
  }
  return kOk;
}

StatusOr<int> RunRefresh(const Options& options, const Interrupt&) {
  RefreshFeedRequest request;
  request.set_namespace_(options.item_namespace);
  request.set_category_id(options.category);
  WINNOW_ASSIGN_OR_RETURN(const auto refreshed,
                          CallOnce<NewsFeedService>(options.remote, &Stub::RefreshFeed, request));
  if (options.json) return PrintJson(refreshed);
  std::cout << refreshed.cached_count() << " articles in memory, at position "
            << refreshed.position() << '\n';
  if (refreshed.projection_requested()) std::cout << "the projection in Redis will be written\n";
  return kOk;
}

void PrintMemory(const GetFeedStatusResponse& status) {
  if (!status.has_memory()) {
    std::cout << "memory      nothing of this feed\n";
    return;
  }
  const MemoryStatus& memory = status.memory();
  std::cout << "memory      " << memory.cached_count() << " articles";
  if (memory.whole()) {
    std::cout << ", the whole feed";
  } else {
    std::cout << " down to " << ShortTime(memory.floor_publish_time()) << ' ' << memory.floor_id();
  }
  std::cout << "; position " << memory.position() << ", " << memory.lag() << " behind; filled from "
            << (memory.filled_from() == TIER_REDIS ? "Redis" : "the store") << '\n';
}

void PrintStatus(const GetFeedStatusResponse& status) {
  PrintMemory(status);
  if (status.has_store()) {
    const StoreStatus& store = status.store();
    std::cout << "store       position " << store.head();
    if (store.has_last_article_time()) {
      std::cout << "; last article " << ShortTime(store.last_article_time());
    }
    if (store.pending_category_count() > 0) {
      std::cout << "; " << store.pending_category_count() << " categories still moving";
    }
    if (!store.index().complete()) {
      std::cout << "; articles are indexed up to position " << store.index().position();
    }
    std::cout << '\n';
  } else {
    std::cout << "store       cannot be read\n";
  }
  if (status.has_projection()) {
    const ProjectionStatus& projection = status.projection();
    std::cout << "projection  Redis " << (projection.available() ? "answers" : "is unavailable");
    if (projection.has_write_time()) {
      std::cout << "; written " << ShortTime(projection.write_time()) << " at position "
                << projection.position() << ", " << projection.lag() << " behind";
    }
    std::cout << '\n';
  }
  const PageCounts& pages = status.pages();
  const int64_t all = pages.memory_count() + pages.spliced_count() + pages.store_count();
  std::cout << "pages       " << pages.memory_count() << " from memory, " << pages.spliced_count()
            << " spliced, " << pages.store_count() << " from the store";
  if (all > 0) std::cout << "; hit ratio " << 100 * pages.memory_count() / all << " %";
  std::cout << '\n';
}

StatusOr<int> RunStatus(const Options& options, const Interrupt&) {
  GetFeedStatusRequest request;
  request.set_namespace_(options.item_namespace);
  request.set_category_id(options.category);
  WINNOW_ASSIGN_OR_RETURN(const auto status,
                          CallOnce<NewsFeedService>(options.remote, &Stub::GetFeedStatus, request));
  if (options.json) return PrintJson(status);
  PrintStatus(status);
  return kOk;
}

Verb<Options> Add(CLI::App& feed, Command& chosen, const char* name, const char* help,
                  RunVerb<Options> run) {
  const auto verb = AddVerb(feed, chosen, name, help, run);
  AddNamespace(verb.command, verb.options.item_namespace);
  return verb;
}

}  // namespace

void AddFeedOperatorCommands(CLI::App& feed, Command& chosen) {
  auto [search, searched] = Add(feed, chosen, "search", "articles by title and snippet", RunSearch);
  search.footer("Examples:\n  winnow feed search 태양광\n  winnow feed search 'ferry boat' --json");
  search.add_option("query", searched.query, "words, or two Korean characters or more")->required();
  AddCount(search, searched.count, 100, "articles");
  AddPageToken(search, searched.page_token);

  auto [stats, counted] =
      Add(feed, chosen, "stats", "what came per category, source or channel", RunStats);
  stats.footer("Examples:\n  winnow feed stats --by source --days 30");
  stats.add_option("--by", counted.by, "category, source, or channel (of citations)")
      ->capture_default_str()
      ->check(CLI::IsMember({"category", "source", "channel"}));
  stats.add_option("--days", counted.days, "days, today included")
      ->capture_default_str()
      ->check(CLI::Range(1, 90));
  AddCount(stats, counted.count, 100, "lines");

  auto [status, shown] =
      Add(feed, chosen, "status", "who serves a feed, and how far each tier is", RunStatus);
  status.footer("Examples:\n  winnow feed status --category ai");
  status.add_option("--category", shown.category, "the feed (default: all articles)");

  auto [refresh, refreshed] =
      Add(feed, chosen, "refresh", "read a feed into memory and Redis again", RunRefresh);
  refresh.footer("Examples:\n  winnow feed refresh --category ai");
  refresh.add_option("--category", refreshed.category, "the feed (default: all articles)");
}

}  // namespace winnow::app
