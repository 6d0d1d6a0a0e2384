#include "services/app/commands/feed_operator.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/client/remote.h"
#include "services/app/commands/remote_options.h"
#include "winnow/newsfeed/v1/newsfeed_service.grpc.pb.h"

namespace winnow::app {
namespace {

using namespace newsfeed::v1;  // NOLINT(google-build-using-namespace): one service's messages

struct Options {
  RemoteOptions remote;
  std::string item_namespace;
  std::string category;
  std::string query;
  std::string page_token;
  std::string by = "category";
  int count = 20;
  int days = 7;
  bool json = false;
};

// One unary call.
template <class Request, class Response>
StatusOr<Response> Call(const RemoteOptions& options,
                        grpc::Status (NewsFeedService::Stub::*method)(grpc::ClientContext*,
                                                                      const Request&, Response*),
                        const Request& request) {
  WINNOW_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(options));
  const auto stub = NewsFeedService::NewStub(remote.channel());
  Response response;
  grpc::ClientContext context;
  remote.PrepareCall(context);
  WINNOW_RETURN_IF_ERROR(ToStatus((*stub.*method)(&context, request, &response)));
  return response;
}

int RunSearch(const Options& options) {
  SearchArticlesRequest request;
  request.set_namespace_(options.item_namespace);
  request.set_query(options.query);
  request.set_page_size(options.count);
  request.set_page_token(options.page_token);
  const auto page = Call(options.remote, &NewsFeedService::Stub::SearchArticles, request);
  if (!page.ok()) return Fail(page.status());
  if (options.json) return PrintJson(*page);
  for (const Article& article : page->articles()) {
    if (!PrintArticle(article)) return kFailed;
  }
  if (page->articles().empty()) std::cout << "nothing found\n";
  if (!page->next_page_token().empty()) {
    std::cout << "next page: --page-token " << page->next_page_token() << '\n';
  }
  return kOk;
}

int RunStats(const Options& options) {
  static const std::map<std::string, StatsDimension> kDimensions = {
      {"category", STATS_DIMENSION_CATEGORY},
      {"source", STATS_DIMENSION_SOURCE},
      {"channel", STATS_DIMENSION_CHANNEL}};
  GetFeedStatsRequest request;
  request.set_namespace_(options.item_namespace);
  request.set_dimension(kDimensions.at(options.by));
  request.set_days(options.days);
  request.set_limit(options.count);
  const auto stats = Call(options.remote, &NewsFeedService::Stub::GetFeedStats, request);
  if (!stats.ok()) return Fail(stats.status());
  if (options.json) return PrintJson(*stats);
  if (stats->counters().empty()) std::cout << "nothing counted\n";
  for (const FeedCounter& counter : stats->counters()) {
    std::cout << std::setw(10) << counter.article_count() + counter.citation_count() << "  "
              << counter.key() << '\n';
  }
  return kOk;
}

int RunRefresh(const Options& options) {
  RefreshFeedRequest request;
  request.set_namespace_(options.item_namespace);
  request.set_category_id(options.category);
  const auto refreshed = Call(options.remote, &NewsFeedService::Stub::RefreshFeed, request);
  if (!refreshed.ok()) return Fail(refreshed.status());
  if (options.json) return PrintJson(*refreshed);
  std::cout << refreshed->cached_count() << " articles in memory, at position "
            << refreshed->position() << '\n';
  if (refreshed->projection_requested()) std::cout << "the projection in Redis will be written\n";
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

int RunStatus(const Options& options) {
  GetFeedStatusRequest request;
  request.set_namespace_(options.item_namespace);
  request.set_category_id(options.category);
  const auto status = Call(options.remote, &NewsFeedService::Stub::GetFeedStatus, request);
  if (!status.ok()) return Fail(status.status());
  if (options.json) return PrintJson(*status);
  PrintStatus(*status);
  return kOk;
}

// A subcommand with what all have; `run` is what it does.
CLI::App* Add(CLI::App& feed, Command& chosen, const char* name, const char* what,
              const std::shared_ptr<Options>& options, int (*run)(const Options&)) {
  CLI::App* command = feed.add_subcommand(name, what);
  command->add_option("--namespace", options->item_namespace, "namespace (default: \"default\")");
  command->add_flag("--json", options->json, "print the API's JSON");
  AddRemoteOptions(*command, options->remote);
  command->callback([options, run, &chosen] {
    chosen = [options, run](const Interrupt&) { return run(*options); };
  });
  return command;
}

}  // namespace

void AddFeedOperatorCommands(CLI::App& feed, Command& chosen) {
  auto searched = std::make_shared<Options>();
  CLI::App* search =
      Add(feed, chosen, "search", "articles by title and snippet", searched, RunSearch);
  search->footer(
      "Examples:\n  winnow feed search 태양광\n  winnow feed search 'ferry boat' --json");
  search->add_option("query", searched->query, "words, or two Korean characters or more")
      ->required();
  search->add_option("--count", searched->count, "articles")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  search->add_option("--page-token", searched->page_token, "go on from here");

  auto counted = std::make_shared<Options>();
  CLI::App* stats =
      Add(feed, chosen, "stats", "what came per category, source or channel", counted, RunStats);
  stats->footer("Examples:\n  winnow feed stats --by source --days 30");
  stats->add_option("--by", counted->by, "category, source, or channel (of citations)")
      ->capture_default_str()
      ->check(CLI::IsMember({"category", "source", "channel"}));
  stats->add_option("--days", counted->days, "days, today included")
      ->capture_default_str()
      ->check(CLI::Range(1, 90));
  stats->add_option("--count", counted->count, "lines")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));

  auto shown = std::make_shared<Options>();
  CLI::App* status =
      Add(feed, chosen, "status", "who serves a feed, and how far each tier is", shown, RunStatus);
  status->footer("Examples:\n  winnow feed status --category ai");
  status->add_option("--category", shown->category, "the feed (default: all articles)");

  auto refreshed = std::make_shared<Options>();
  CLI::App* refresh = Add(feed, chosen, "refresh", "read a feed into memory and Redis again",
                          refreshed, RunRefresh);
  refresh->footer("Examples:\n  winnow feed refresh --category ai");
  refresh->add_option("--category", refreshed->category, "the feed (default: all articles)");
}

}  // namespace winnow::app
