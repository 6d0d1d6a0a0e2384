#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/newsfeed/articles/category.h"
#include "services/newsfeed/articles/commit_position.h"
#include "services/newsfeed/articles/upsert.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"
#include "services/platform/postgres/session/session.h"

// Changes of the category tree. The tree itself changes at once; the articles below follow in
// transactions short enough for others to get their turn. What is left to do stands in
// newsfeed.tree_work, so that the next process finishes it.
namespace winnow::newsfeed {

// What has been done of a change so far.
struct TreeProgress {
  int64_t articles = 0;
  bool done = false;
};

// Until the transaction ends no other transaction can change the tree of this namespace.
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
  // `chunk`: articles per transaction.
  TreeStore(pg::Pool& reads, pg::Pool& writes, pg::Pool& logs, CommitPosition& last_commit,
            int chunk = 100)
      : reads_(reads), writes_(writes), logs_(logs), last_commit_(last_commit), chunk_(chunk) {}

  // ALREADY_EXISTS; NOT_FOUND and the errors of PathBelow for its parent.
  StatusOr<Category> Create(Deadline deadline, const Category& category);
  // Creates these root categories if the namespace has no category at all. Returns how many.
  StatusOr<int> Seed(Deadline deadline, const std::string& ns,
                     std::span<const Category> categories);

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

 private:
  pg::Pool& reads_;
  pg::Pool& writes_;
  pg::Pool& logs_;
  CommitPosition& last_commit_;
  const int chunk_;
};

}  // namespace winnow::newsfeed
