#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/client/remote.h"
#include "services/app/commands/command.h"
#include "services/app/commands/feed_operator.h"
#include "services/app/commands/feed_watch.h"
#include "services/app/commands/remote_options.h"
#include "winnow/newsfeed/v1/newsfeed_service.grpc.pb.h"

namespace winnow::app {
namespace {

using newsfeed::v1::ListArticlesRequest;
using newsfeed::v1::ListArticlesResponse;
using newsfeed::v1::NewsFeedService;

struct FeedOptions {
  RemoteOptions remote;
  ListArticlesRequest request;
  std::string item_namespace;
  std::string category;
  std::string page_token;
  std::string keywords;
  std::vector<std::string> sources;
  std::vector<std::string> languages;
  int count = 20;
  bool json = false;
};

StatusOr<ListArticlesResponse> ReadPage(NewsFeedService::Stub& stub, const Remote& remote,
                                        const ListArticlesRequest& request) {
  ListArticlesResponse response;
  grpc::ClientContext context;
  remote.PrepareCall(context);
  WINNOW_RETURN_IF_ERROR(ToStatus(stub.ListArticles(&context, request, &response)));
  return response;
}

ListArticlesRequest FirstRequest(const FeedOptions& options) {
  ListArticlesRequest request;
  request.set_namespace_(options.item_namespace);
  request.set_category_id(options.category);
  request.set_page_token(options.page_token);
  if (!options.keywords.empty()) request.mutable_filter()->set_keywords(options.keywords);
  for (const std::string& source : options.sources) request.mutable_filter()->add_sources(source);
  for (const std::string& language : options.languages) {
    request.mutable_filter()->add_languages(language);
  }
  return request;
}

int RunList(const FeedOptions& options) {
  auto remote = Remote::Connect(options.remote);
  if (!remote.ok()) return Fail(remote.status());
  const auto stub = NewsFeedService::NewStub(remote->channel());
  ListArticlesRequest request = FirstRequest(options);
  request.set_page_size(options.count);
  const auto page = ReadPage(*stub, *remote, request);
  if (!page.ok()) return Fail(page.status());
  if (options.json) return PrintJson(*page);
  for (const auto& article : page->articles()) PrintArticle(article);
  if (page->articles().empty()) std::cout << "no articles\n";
  if (!page->next_page_token().empty()) {
    std::cout << "next page: --page-token " << page->next_page_token() << '\n';
  }
  return kOk;
}

int RunScroll(const FeedOptions& options, const Interrupt& interrupt) {
  auto remote = Remote::Connect(options.remote);
  if (!remote.ok()) return Fail(remote.status());
  const auto stub = NewsFeedService::NewStub(remote->channel());
  ListArticlesRequest request = FirstRequest(options);
  int64_t left = options.count > 0 ? options.count : INT64_MAX;
  int64_t shown = 0;
  do {
    request.set_page_size(static_cast<int>(std::min<int64_t>(left, 100)));
    const auto page = ReadPage(*stub, *remote, request);
    if (!page.ok()) return Fail(page.status());
    for (const auto& article : page->articles()) {
      if (options.json ? PrintJson(article) != kOk : !PrintArticle(article)) return kFailed;
    }
    shown += page->articles_size();
    left -= page->articles_size();
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty() && left > 0 && !interrupt.requested());
  if (interrupt.requested()) return kInterrupted;
  if (!options.json) std::cout << shown << " articles\n";
  return kOk;
}

void AddFeedOptions(CLI::App& command, const std::shared_ptr<FeedOptions>& options) {
  command.add_option("--namespace", options->item_namespace, "namespace (default: \"default\")");
  command.add_option("--category", options->category, "only this category and those below it");
  command.add_option("--keywords", options->keywords,
                     "only articles with these keywords: 'a AND (b OR \"c d\") AND NOT e'");
  command.add_option("--source", options->sources, "only of this source; may be repeated");
  command.add_option("--language", options->languages, "only in this language; may be repeated");
  command.add_option("--page-token", options->page_token, "go on from here");
  command.add_flag("--json", options->json, "print the API's JSON");
  AddRemoteOptions(command, options->remote);
}

void AddWatch(CLI::App& feed, Command& chosen) {
  auto options = std::make_shared<FeedWatchOptions>();
  CLI::App* watch = feed.add_subcommand("watch", "what happens to a feed, as it happens");
  watch->footer(
      "A line a change: + an article that came, ~ one that changed, - one that left.\n"
      "Examples:\n  winnow feed watch\n  winnow feed watch --category ai --json");
  watch->add_option("--namespace", options->item_namespace, "namespace (default: \"default\")");
  watch->add_option("--category", options->category, "only this category and those below it");
  watch->add_option("--page-token", options->token, "go on from here (default: from now)");
  watch->add_option("--count", options->count, "end after so many changes (0: never)")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  watch->add_flag("--json", options->json, "print the API's JSON");
  AddRemoteOptions(*watch, options->remote);
  watch->callback([options, &chosen] {
    chosen = [options](const Interrupt& interrupt) { return RunFeedWatch(*options, interrupt); };
  });
}

}  // namespace

void AddFeedCommands(CLI::App& app, Command& chosen) {
  CLI::App* feed = app.add_subcommand("feed", "read, search and look after feeds");
  feed->require_subcommand(1);

  auto list_options = std::make_shared<FeedOptions>();
  CLI::App* list = feed->add_subcommand("list", "one page, newest first");
  list->footer(
      "Examples:\n  winnow feed list\n  winnow feed list --category ai --count 5 --json\n"
      "  winnow feed list --keywords 'climate AND NOT advertisement' --language ko");
  list->add_option("--count", list_options->count, "articles")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  AddFeedOptions(*list, list_options);
  list->callback([list_options, &chosen] {
    chosen = [list_options](const Interrupt&) { return RunList(*list_options); };
  });

  AddWatch(*feed, chosen);
  AddFeedOperatorCommands(*feed, chosen);
  AddFeedImportRedis(*feed, chosen);
  auto scroll_options = std::make_shared<FeedOptions>();
  scroll_options->count = 0;
  CLI::App* scroll = feed->add_subcommand("scroll", "the whole feed, page after page");
  scroll->footer(
      "Examples:\n  winnow feed scroll | head -100\n  winnow feed scroll --count 500 --json");
  scroll->add_option("--count", scroll_options->count, "stop after so many articles (0: never)")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  AddFeedOptions(*scroll, scroll_options);
  scroll->callback([scroll_options, &chosen] {
    chosen = [scroll_options](const Interrupt& interrupt) {
      return RunScroll(*scroll_options, interrupt);
    };
  });
}

}  // namespace winnow::app
