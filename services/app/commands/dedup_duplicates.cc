#include "services/app/commands/dedup_duplicates.h"

#include <iostream>
#include <map>
#include <vector>

#include "services/app/client/client.h"
#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/client/terminal.h"
#include "winnow/collector/v1/collector_service.grpc.pb.h"
#include "winnow/dedup/v1/dedup_service.grpc.pb.h"
#include "winnow/newsfeed/v1/newsfeed_service.grpc.pb.h"

namespace winnow::app {
namespace {

using collector::v1::CollectorService;
using dedup::v1::DedupService;
using dedup::v1::ListDuplicatesResponse;
using newsfeed::v1::NewsFeedService;

// Articles that are looked through for originals, newest first.
constexpr int kMaxScanned = 2000;
constexpr int kPageSize = 100;

class DuplicateLister {
 public:
  DuplicateLister(const DuplicatesOptions& options, const Remote& remote)
      : options_(options), collector_(remote), dedup_(remote), newsfeed_(remote) {}

  // Of one original, as the API returns them.
  StatusOr<ListDuplicatesResponse> List(const std::string& id) {
    dedup::v1::ListDuplicatesRequest request;
    request.set_namespace_(options_.item_namespace);
    request.set_original_id(id);
    request.set_page_size(options_.count);
    return dedup_.Call(&DedupService::Stub::ListDuplicates, request);
  }

  // Titles of items by id; ids that are not items of the collector have none.
  StatusOr<std::map<std::string, std::string>> Titles(const std::vector<std::string>& ids) {
    collector::v1::BatchGetItemsRequest request;
    for (const std::string& id : ids) request.add_ids(id);
    WINNOW_ASSIGN_OR_RETURN(const auto response,
                            collector_.Call(&CollectorService::Stub::BatchGetItems, request));
    std::map<std::string, std::string> titles;
    for (const auto& result : response.results()) {
      if (result.has_item()) titles[result.item().id()] = result.item().title();
    }
    return titles;
  }

  // The newest articles that were repeated, `count` at most.
  StatusOr<std::vector<newsfeed::v1::Article>> RepeatedArticles() {
    std::vector<newsfeed::v1::Article> found;
    newsfeed::v1::ListArticlesRequest request;
    request.set_namespace_(options_.item_namespace);
    request.set_page_size(kPageSize);
    for (int scanned = 0; scanned < kMaxScanned; scanned += kPageSize) {
      WINNOW_ASSIGN_OR_RETURN(auto page,
                              newsfeed_.Call(&NewsFeedService::Stub::ListArticles, request));
      for (auto& article : *page.mutable_articles()) {
        if (article.citation_count() > 0) found.push_back(std::move(article));
        if (static_cast<int>(found.size()) == options_.count) return found;
      }
      if (page.next_page_token().empty()) break;
      request.set_page_token(page.next_page_token());
    }
    return found;
  }

 private:
  const DuplicatesOptions& options_;
  const Client<CollectorService> collector_;
  const Client<DedupService> dedup_;
  const Client<NewsFeedService> newsfeed_;
};

Status PrintDuplicatesOf(DuplicateLister& lister, const std::string& id) {
  WINNOW_ASSIGN_OR_RETURN(const auto listed, lister.List(id));
  std::vector<std::string> ids;
  for (const auto& duplicate : listed.duplicates()) ids.push_back(duplicate.document_id());
  if (ids.empty()) {
    std::cout << "  no other channel repeated it\n";
    return OkStatus();
  }
  WINNOW_ASSIGN_OR_RETURN(const auto titles, lister.Titles(ids));
  for (const auto& duplicate : listed.duplicates()) {
    const auto title = titles.find(duplicate.document_id());
    std::cout << "  " << ShortTime(duplicate.arrival_time()) << "  "
              << Printable(duplicate.channel()) << ": "
              << (title == titles.end() ? duplicate.document_id() : Printable(title->second))
              << "  (" << dedup::v1::Stage_Name(duplicate.stage()) << ", similarity "
              << duplicate.similarity() << ")\n";
  }
  return OkStatus();
}

Status PrintNewest(DuplicateLister& lister, bool json) {
  WINNOW_ASSIGN_OR_RETURN(const auto articles, lister.RepeatedArticles());
  if (articles.empty() && !json) std::cout << "no article of the feed was repeated\n";
  for (const auto& article : articles) {
    if (json) {
      WINNOW_ASSIGN_OR_RETURN(const auto listed, lister.List(article.id()));
      PrintJson(listed);
      continue;
    }
    PrintArticle(article);
    WINNOW_RETURN_IF_ERROR(PrintDuplicatesOf(lister, article.id()));
  }
  return OkStatus();
}

}  // namespace

StatusOr<int> RunDuplicates(const DuplicatesOptions& options, const Interrupt&) {
  WINNOW_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(options.remote));
  DuplicateLister lister(options, remote);
  if (options.id.empty()) {
    WINNOW_RETURN_IF_ERROR(PrintNewest(lister, options.json));
  } else if (options.json) {
    WINNOW_ASSIGN_OR_RETURN(const auto listed, lister.List(options.id));
    return PrintJson(listed);
  } else {
    WINNOW_RETURN_IF_ERROR(PrintDuplicatesOf(lister, options.id));
  }
  return kOk;
}

}  // namespace winnow::app
