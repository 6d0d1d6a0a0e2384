#include "services/app/commands/feed_watch.h"

#include <cstdint>
#include <iostream>

#include "services/app/client/canceller.h"
#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "winnow/newsfeed/v1/newsfeed_service.grpc.pb.h"

namespace winnow::app {
namespace {

using newsfeed::v1::NewsFeedService;
using newsfeed::v1::WatchArticlesRequest;
using newsfeed::v1::WatchArticlesResponse;

bool Print(const WatchArticlesResponse& response) {
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

WatchArticlesRequest RequestOf(const FeedWatchOptions& options) {
  WatchArticlesRequest request;
  request.set_namespace_(options.item_namespace);
  request.set_category_id(options.category);
  request.set_resume_token(options.token);
  return request;
}

}  // namespace

int RunFeedWatch(const FeedWatchOptions& options, const Interrupt& interrupt) {
  auto remote = Remote::Connect(options.remote);
  if (!remote.ok()) return Fail(remote.status());
  const auto stub = NewsFeedService::NewStub(remote->channel());
  grpc::ClientContext context;
  remote->PrepareStream(context);
  const auto reader = stub->WatchArticles(&context, RequestOf(options));
  WatchArticlesResponse response;
  std::string token;
  int64_t left = options.count > 0 ? options.count : INT64_MAX;
  bool printed = true;
  {
    const Canceller canceller(interrupt, context);
    while (printed && left > 0 && reader->Read(&response)) {
      token = response.resume_token();
      printed = options.json ? PrintJson(response) == kOk : Print(response);
      if (response.event_case() != WatchArticlesResponse::EVENT_NOT_SET) --left;
    }
  }
  context.TryCancel();
  const Status ended = ToStatus(reader->Finish());
  if (!printed) return kFailed;
  if (!options.json && !token.empty()) std::cout << "go on: --page-token " << token << '\n';
  if (interrupt.requested()) return kInterrupted;
  return left == 0 || ended.ok() ? kOk : Fail(ended);
}

}  // namespace winnow::app
