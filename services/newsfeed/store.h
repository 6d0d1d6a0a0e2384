#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "services/newsfeed/articles.h"
#include "services/newsfeed/categories.h"
#include "services/newsfeed/citations.h"
#include "services/newsfeed/feed_query.h"
#include "services/newsfeed/feed_status.h"
#include "services/newsfeed/log_batch.h"
#include "services/newsfeed/upsert.h"
#include "services/platform/clock.h"
#include "services/platform/postgres/migrate.h"
#include "services/platform/postgres/pool.h"
#include "services/platform/status.h"

// The schema newsfeed. Everything that changes what a feed shows goes through the one log of all
// feeds (stream "feeds"), so that a reader who knows a position knows what was there.
namespace winnow::newsfeed {

pg::Migrations StoreMigrations();

class Store {
 public:
  struct Options {
    Micros max_future = std::chrono::minutes(10);
  };
  // `logs` is for log transactions only.
  Store(pg::Pool& reads, pg::Pool& writes, pg::Pool& logs, const Clock& clock, Options options)
      : reads_(reads), writes_(writes), logs_(logs), clock_(clock), options_(options) {}

  // Valid articles in, one result each, in order; durable when it returns. `sent` of one call are
  // one batch, however many transactions it takes.
  StatusOr<std::vector<StatusOr<Upserted>>> Upsert(Deadline deadline, std::span<const Sent> sent);

  // By its own id or one that was merged into it. NOT_FOUND also for a deleted one.
  StatusOr<StoredArticle> Get(Deadline deadline, const std::string& ns, const std::string& id);

  // Answers when it was deleted first. NOT_FOUND.
  StatusOr<Time> Delete(Deadline deadline, const std::string& ns, const std::string& id);

  // The article as it is now. NOT_FOUND.
  StatusOr<StoredArticle> Undelete(Deadline deadline, const std::string& ns, const std::string& id);

  // As Get, each alone, in order.
  StatusOr<std::vector<std::optional<StoredArticle>>> BatchGet(Deadline deadline,
                                                               const std::string& ns,
                                                               const std::vector<std::string>& ids);
  // NOT_FOUND also for a deleted one.
  StatusOr<StoredArticle> LookUp(Deadline deadline, const std::string& ns,
                                 const std::string& canonical_url);

  // One page. NOT_FOUND for a category that does not exist.
  StatusOr<FeedPage> ListArticles(Deadline deadline, const FeedQuery& query);

  // Entries that came after `query.position`: after the watermark of a scroll, or what the newer
  // feed begins after. NOT_FOUND as above.
  StatusOr<NewerCount> CountNewer(Deadline deadline, const FeedQuery& query);
  // NOT_FOUND for a feed of no category.
  Status CheckFeed(Deadline deadline, const std::string& ns, const std::string& category);

  // How far the log is, and how fresh a namespace. NOT_FOUND as above.
  StatusOr<StoreStatus> ReadStatus(Deadline deadline, const std::string& ns,
                                   const std::string& category);

  // ALREADY_EXISTS; NOT_FOUND and the errors of PathBelow for its parent.
  StatusOr<Category> CreateCategory(Deadline deadline, const Category& category);
  // Creates these roots where the namespace has no category at all; how many.
  StatusOr<int> SeedCategories(Deadline deadline, const std::string& ns,
                               std::span<const Category> categories);
  // By path; one more than a page when there are more.
  StatusOr<std::vector<Category>> ListCategories(Deadline deadline, const CategoryQuery& query);
  // Which of these (namespace, id) are categories.
  StatusOr<std::set<ArticleKey>> ExistingCategories(Deadline deadline,
                                                    const std::set<ArticleKey>& ids);

  // The last position of the log that this process has written.
  int64_t last_commit() const { return last_commit_.load(std::memory_order_relaxed); }

  // Idempotent by (original, duplicate).
  Status Cite(Deadline deadline, std::span<const Citation> citations);

 private:
  void NoteCommit(int64_t position);

  pg::Pool& reads_;
  pg::Pool& writes_;
  pg::Pool& logs_;
  const Clock& clock_;
  const Options options_;
  LogBatch log_batch_;
  std::atomic<int64_t> last_commit_ = 0;
};

}  // namespace winnow::newsfeed
