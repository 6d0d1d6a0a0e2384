#include "services/app/commands/duplicates.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <vector>

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
      : options_(options),
        remote_(remote),
        collector_(CollectorService::NewStub(remote.channel())),
        dedup_(DedupService::NewStub(remote.channel())),
        newsfeed_(NewsFeedService::NewStub(remote.channel())) {}

  // Of one original, as the API returns them.
  StatusOr<ListDuplicatesResponse> List(const std::string& id) {
    dedup::v1::ListDuplicatesRequest request;
    request.set_namespace_(options_.item_namespace);
    request.set_original_id(id);
    request.set_page_size(options_.count);
    ListDuplicatesResponse response;
    grpc::ClientContext context;
    remote_.PrepareCall(context);
    WINNOW_RETURN_IF_ERROR(ToStatus(dedup_->ListDuplicates(&context, request, &response)));
    return response;
  }

  // Titles of items by id; ids that are not items of the collector have none.
  StatusOr<std::map<std::string, std::string>> Titles(const std::vector<std::string>& ids) {
    collector::v1::BatchGetItemsRequest request;
    for (const std::string& id : ids) request.add_ids(id);
    collector::v1::BatchGetItemsResponse response;
    grpc::ClientContext context;
    remote_.PrepareCall(context);
    WINNOW_RETURN_IF_ERROR(ToStatus(collector_->BatchGetItems(&context, request, &response)));
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
      newsfeed::v1::ListArticlesResponse page;
      grpc::ClientContext context;
      remote_.PrepareCall(context);
      WINNOW_RETURN_IF_ERROR(ToStatus(newsfeed_->ListArticles(&context, request, &page)));
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
  const Remote& remote_;
  const std::unique_ptr<CollectorService::Stub> collector_;
  const std::unique_ptr<DedupService::Stub> dedup_;
  const std::unique_ptr<NewsFeedService::Stub> newsfeed_;
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

int RunDuplicates(const DuplicatesOptions& options) {
  auto remote = Remote::Connect(options.remote);
  if (!remote.ok()) return Fail(remote.status());
  DuplicateLister lister(options, *remote);
  Status status;
  if (options.id.empty()) {
    status = PrintNewest(lister, options.json);
  } else if (options.json) {
    const auto listed = lister.List(options.id);
    if (listed.ok()) return PrintJson(*listed);
    status = listed.status();
  } else {
    status = PrintDuplicatesOf(lister, options.id);
  }
  return status.ok() ? kOk : Fail(status);
}

}  // namespace winnow::app
