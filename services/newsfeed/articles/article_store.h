#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/newsfeed/articles/article.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::newsfeed {

// Reads single articles. Deleted articles are not found.
class ArticleStore {
 public:
  explicit ArticleStore(pg::Pool& reads) : reads_(reads) {}

  // `id` is the article's own id or one that was merged into it. NOT_FOUND.
  StatusOr<StoredArticle> Get(Deadline deadline, const std::string& ns, const std::string& id);
  // As Get for each id, in order; nullopt where there is no such article.
  StatusOr<std::vector<std::optional<StoredArticle>>> BatchGet(Deadline deadline,
                                                               const std::string& ns,
                                                               const std::vector<std::string>& ids);
  // NOT_FOUND.
  StatusOr<StoredArticle> LookUp(Deadline deadline, const std::string& ns,
                                 const std::string& canonical_url);

 private:
  pg::Pool& reads_;
};

}  // namespace winnow::newsfeed
