#pragma once

#include <set>
#include <vector>

#include "services/newsfeed/articles/category.h"
#include "services/newsfeed/articles/upsert.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::newsfeed {

// Reads the category tree. Categories that are being deleted are not shown.
class CategoryStore {
 public:
  explicit CategoryStore(pg::Pool& reads) : reads_(reads) {}

  // Ordered by path; one more than `query.page_size` when there are more.
  StatusOr<std::vector<Category>> List(Deadline deadline, const CategoryQuery& query);
  // Which of these (namespace, id) exist.
  StatusOr<std::set<ArticleKey>> Existing(Deadline deadline, const std::set<ArticleKey>& ids);

 private:
  pg::Pool& reads_;
};

}  // namespace winnow::newsfeed
