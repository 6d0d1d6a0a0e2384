#pragma once

#include <memory>
#include <string>

#include "services/newsfeed/api/status_store.h"
#include "services/newsfeed/api/watch_hub.h"
#include "services/newsfeed/feed/feed_answer.h"
#include "services/newsfeed/feed/feed_memory.h"
#include "services/newsfeed/feed/feed_store.h"
#include "services/newsfeed/feed/memory_worker.h"
#include "services/newsfeed/feed/page_metrics.h"
#include "services/newsfeed/projection/projection_store.h"
#include "services/newsfeed/projection/projection_worker.h"
#include "services/newsfeed/search/search_store.h"
#include "services/newsfeed/write/stats_store.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/grpc/call/call_context.h"
#include "services/platform/grpc/call/handler.h"
#include "services/platform/grpc/call/subscriber.h"
#include "winnow/newsfeed/v1/newsfeed_service.pb.h"

namespace winnow::newsfeed {

// The RPCs of NewsFeedService that read feeds; its proto says what each does.
class FeedHandlers {
 public:
  struct Options {
    Micros stale_after = std::chrono::minutes(10);
  };
  // What it works with; all outlive it.
  struct Parts {
    FeedStore& feeds;
    StatusStore& status;
    SearchStore& search;
    StatsStore& stats;
    FeedMemory& memory;
    MemoryWorker& memory_worker;
    WatchHub& watches;
    const Clock& clock;
    PageMetrics& pages;
    ProjectionStore* projections = nullptr;  // with a Redis only
    ProjectionWorker* projector = nullptr;
  };
  FeedHandlers(const Parts& parts, Options options) : parts_(parts), options_(options) {}

  // A page from memory alone, without waiting for anything: ListArticlesResponse, serialized. Null
  // if memory cannot answer; `query` is then what was asked, for ListArticles. INVALID_ARGUMENT.
  StatusOr<std::shared_ptr<const std::string>> ListFromMemory(
      const v1::ListArticlesRequest& request, FeedQuery& query);
  // ListArticlesResponse, serialized.
  StatusOr<std::string> ListArticles(const rpc::CallContext& call, const FeedQuery& query);
  WINNOW_HANDLER(CountNewArticles);
  Status WatchArticles(const rpc::CallContext& call, const v1::WatchArticlesRequest& request,
                       const rpc::Subscriber<v1::WatchArticlesResponse>& subscriber);
  WINNOW_HANDLER(SearchArticles);
  WINNOW_HANDLER(GetFeedStats);
  WINNOW_HANDLER(RefreshFeed);
  WINNOW_HANDLER(GetFeedStatus);

 private:
  StatusOr<FeedAnswer> Read(const rpc::CallContext& call, const FeedQuery& query);
  StatusOr<FeedAnswer> ReadStore(const rpc::CallContext& call, const FeedQuery& query);
  // On the wire; notes in the answer what is wrong with it.
  std::string Finish(const FeedQuery& query, FeedAnswer& answer) const;
  bool IsStale(const std::optional<Time>& created_at) const;
  HotPages::Bytes FindHot(const std::string& key, uint64_t version) const;
  void KeepHot(const std::string& key, uint64_t version, const FeedQuery& query,
               const FeedAnswer& answer, const HotPages::Bytes& bytes);

  const Parts parts_;
  const Options options_;
  HotPages hot_pages_;
};

}  // namespace winnow::newsfeed
