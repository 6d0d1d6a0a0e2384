#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "services/newsfeed/categories.h"
#include "services/newsfeed/upsert.h"
#include "services/platform/clock.h"
#include "services/platform/postgres/pool.h"
#include "services/platform/postgres/session.h"
#include "services/platform/status.h"

// Changes of the category tree. The tree itself changes at once; the articles below follow in
// transactions short enough for others to get their turn. What is left to do stands in
// newsfeed.tree_work, so that it is finished by whoever comes next.
namespace winnow::newsfeed {

// What has been done of a change so far.
struct TreeProgress {
  int64_t articles = 0;
  bool done = false;
};

// Until the transaction ends nobody else reads the tree of this namespace to change it.
void LockTree(pg::Session& session, const std::string& ns);

struct StoredCategory {
  Category category;
  bool deleting = false;  // it takes no articles and has no feed any more
};
// NOT_FOUND.
StatusOr<StoredCategory> ReadCategory(pg::Session& session, const std::string& ns,
                                      const std::string& id);

class TreeStore {
 public:
  // `chunk` articles a transaction.
  TreeStore(pg::Pool& reads, pg::Pool& writes, pg::Pool& logs, int chunk = 100)
      : reads_(reads), writes_(writes), logs_(logs), chunk_(chunk) {}

  // NOT_FOUND; ABORTED for another etag than `category.etag`, unless that is empty.
  StatusOr<Category> Rename(Deadline deadline, const Category& category);

  // The category is below `parent_id` when it returns, its articles are to follow. Moving it to
  // where it is changes nothing. Errors: as Rename, and those of PathBelow.
  StatusOr<Category> BeginMove(Deadline deadline, const Category& category);

  // The category has no feed when it returns; its articles are to follow. FAILED_PRECONDITION when
  // there are categories below it, or articles in it, unless `force`.
  Status BeginDelete(Deadline deadline, const Category& category, bool force);

  // Goes on with what is to be done in a category; nothing left is done at once.
  StatusOr<TreeProgress> Continue(Deadline deadline, const ArticleKey& category);

  // Categories with something left to do.
  StatusOr<std::vector<ArticleKey>> Unfinished(Deadline deadline);

  // The last position of the log that this process has written here.
  int64_t last_commit() const { return last_commit_; }

 private:
  pg::Pool& reads_;
  pg::Pool& writes_;
  pg::Pool& logs_;
  const int chunk_;
  std::atomic<int64_t> last_commit_ = 0;
};

}  // namespace winnow::newsfeed
