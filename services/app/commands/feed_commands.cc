#include <iostream>
#include <string>
#include <vector>

#include "services/app/client/client.h"
#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/commands/feed_operator_commands.h"
#include "services/app/commands/verb.h"
#include "winnow/newsfeed/v1/newsfeed_service.grpc.pb.h"

namespace winnow::app {
namespace {

using newsfeed::v1::ListArticlesRequest;
using newsfeed::v1::NewsFeedService;
using newsfeed::v1::WatchArticlesRequest;
using newsfeed::v1::WatchArticlesResponse;
using Stub = NewsFeedService::Stub;

struct FeedOptions : VerbOptions {
  std::string item_namespace;
  std::string category;
  std::string page_token;
  std::string keywords;
  std::vector<std::string> sources;
  std::vector<std::string> languages;
  int count = 20;
};

struct FeedWatchOptions : VerbOptions {
  std::string item_namespace;
  std::string category;
  std::string token;  // to go on from; empty: from now
  int count = 0;      // ends after so many changes; 0: never
};

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

StatusOr<int> RunList(const FeedOptions& options, const Interrupt&) {
  ListArticlesRequest request = FirstRequest(options);
  request.set_page_size(options.count);
  WINNOW_ASSIGN_OR_RETURN(const auto page,
                          CallOnce<NewsFeedService>(options.remote, &Stub::ListArticles, request));
  if (options.json) return PrintJson(page);
  for (const auto& article : page.articles()) PrintArticle(article);
  if (page.articles().empty()) std::cout << "no articles\n";
  PrintNextPage(page.next_page_token());
  return kOk;
}

StatusOr<int> RunScroll(const FeedOptions& options, const Interrupt& interrupt) {
  WINNOW_ASSIGN_OR_RETURN(const auto server, Client<NewsFeedService>::Connect(options.remote));
  ListArticlesRequest request = FirstRequest(options);
  int64_t left = options.count > 0 ? options.count : INT64_MAX;
  int64_t shown = 0;
  do {
    request.set_page_size(static_cast<int>(std::min<int64_t>(left, 100)));
    WINNOW_ASSIGN_OR_RETURN(const auto page, server.Call(&Stub::ListArticles, request));
    for (const auto& article : page.articles()) {
      if (options.json ? PrintJson(article) != kOk : !PrintArticle(article)) return kFailed;
    }
    shown += page.articles_size();
    left -= page.articles_size();
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty() && left > 0 && !interrupt.requested());
  if (interrupt.requested()) return kInterrupted;
  if (!options.json) std::cout << shown << " articles\n";
  return kOk;
}

bool PrintChange(const WatchArticlesResponse& response) {
  switch (response.event_case()) {
    case WatchArticlesResponse::kArticle:
      std::cout << (response.article().entered() ? "+ " : "~ ");
      return PrintArticle(response.article().article());
    case WatchArticlesResponse::kTombstone:
      std::cout << "- " << response.tombstone().id() << '\n';
      break;
    case WatchArticlesResponse::kGap:
      std::cout << "! " << response.gap().reason() << '\n';
      break;
    case WatchArticlesResponse::EVENT_NOT_SET:
      break;
  }
  std::cout.flush();
  return !std::cout.fail();
}

WatchArticlesRequest WatchRequest(const FeedWatchOptions& options) {
  WatchArticlesRequest request;
  request.set_namespace_(options.item_namespace);
  request.set_category_id(options.category);
  request.set_resume_token(options.token);
  return request;
}

// Prints what happens to a feed, a change a line, until it is interrupted.
StatusOr<int> RunWatch(const FeedWatchOptions& options, const Interrupt& interrupt) {
  WINNOW_ASSIGN_OR_RETURN(const auto server, Client<NewsFeedService>::Connect(options.remote));
  std::string token;
  int64_t left = options.count > 0 ? options.count : INT64_MAX;
  bool printed = true;
  const auto print = [&](const WatchArticlesResponse& response) {
    token = response.resume_token();
    printed = options.json ? PrintJson(response) == kOk : PrintChange(response);
    if (response.event_case() != WatchArticlesResponse::EVENT_NOT_SET) --left;
    return printed && left > 0;
  };
  const Status ended = server.Follow(&Stub::WatchArticles, WatchRequest(options), interrupt, print);
  if (!printed) return kFailed;
  if (!options.json && !token.empty()) std::cout << "go on: --page-token " << token << '\n';
  if (interrupt.requested()) return kInterrupted;
  WINNOW_RETURN_IF_ERROR(ended);
  return kOk;
}

void AddFeedOptions(const Verb<FeedOptions>& verb) {
  auto [command, options] = verb;
  AddNamespace(command, options.item_namespace);
  command.add_option("--category", options.category, "only this category and those below it");
  command.add_option("--keywords", options.keywords,
                     "only articles with these keywords: 'a AND (b OR \"c d\") AND NOT e'");
  command.add_option("--source", options.sources, "only of this source; may be repeated");
  command.add_option("--language", options.languages, "only in this language; may be repeated");
  AddPageToken(command, options.page_token);
}

void AddWatch(CLI::App& feed, Command& chosen) {
  auto [watch, options] =
      AddVerb(feed, chosen, "watch", "what happens to a feed, as it happens", RunWatch);
  watch.footer(
      "A line a change: + an article that came, ~ one that changed, - one that left.\n"
      "Examples:\n  winnow feed watch\n  winnow feed watch --category ai --json");
  AddNamespace(watch, options.item_namespace);
  watch.add_option("--category", options.category, "only this category and those below it");
  watch.add_option("--page-token", options.token, "go on from here (default: from now)");
  AddEndAfter(watch, options.count, "end after so many changes (0: never)");
}

}  // namespace

void AddFeedCommands(CLI::App& app, Command& chosen) {
  CLI::App* feed = app.add_subcommand("feed", "read, search and look after feeds");
  feed->require_subcommand(1);

  const auto list = AddVerb(*feed, chosen, "list", "one page, newest first", RunList);
  list.command.footer(
      "Examples:\n  winnow feed list\n  winnow feed list --category ai --count 5 --json\n"
      "  winnow feed list --keywords 'climate AND NOT advertisement' --language ko");
  AddCount(list.command, list.options.count, 100, "articles");
  AddFeedOptions(list);

  AddWatch(*feed, chosen);
  AddFeedOperatorCommands(*feed, chosen);
  AddFeedImportRedis(*feed, chosen);

  const auto scroll =
      AddVerb(*feed, chosen, "scroll", "the whole feed, page after page", RunScroll);
  scroll.command.footer(
      "Examples:\n  winnow feed scroll | head -100\n  winnow feed scroll --count 500 --json");
  scroll.options.count = 0;
  AddEndAfter(scroll.command, scroll.options.count, "stop after so many articles (0: never)");
  AddFeedOptions(scroll);
}

}  // namespace winnow::app
