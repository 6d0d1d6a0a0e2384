#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/newsfeed/articles/article.h"
#include "services/newsfeed/articles/category.h"
#include "services/platform/base/status.h"

// What a batch of upserts does, decided in memory from what the store knows of its articles. The
// store reads, asks, and writes; all under the lock of the feeds' log.
namespace winnow::newsfeed {

// (namespace, id) or (namespace, canonical URL).
using ArticleKey = std::pair<std::string, std::string>;

// An id that was merged into another article by URL.
struct Alias {
  std::string article_id;
  Hash128Value sent_hash;  // ContentHash of what the merged id sent last
  friend bool operator==(const Alias&, const Alias&) = default;
};

// What is stored of the ids and canonical URLs of a batch.
struct Known {
  std::map<ArticleKey, StoredArticle> articles;  // by id; deleted ones too
  std::map<ArticleKey, Alias> aliases;           // by merged id
  std::map<ArticleKey, std::string> ids_by_url;  // canonical URL -> id; all of them in
                                                 // `articles`
  std::map<std::string, CategoryPaths> paths;    // by namespace
};

enum class UpsertOutcome { kCreated, kUpdated, kUnchanged, kMerged };

struct Upserted {
  std::string id;  // of the stored article
  UpsertOutcome outcome = UpsertOutcome::kUnchanged;
  int64_t revision = 0;
};

struct Edit {
  StoredArticle before;
  StoredArticle after;
};

struct UpsertPlan {
  std::vector<StoredArticle> created;
  std::vector<Edit> edited;
  std::map<ArticleKey, Alias> aliases;      // new ones, and those whose content changed
  std::vector<ArticleKey> new_aliases;      // keys of `aliases` that were not known
  std::vector<ArticleKey> seen;             // stored articles sent again, once each
  std::vector<StatusOr<Upserted>> results;  // one per article sent, in order
};

// One article of a batch; it is valid.
struct Sent {
  const Article* article = nullptr;
  std::string prefix;    // of its fields in violations: "articles[3]."
  bool repeats = false;  // an earlier one of the batch has the same id
  int64_t revision = 0;  // of the article that it may change; 0: any, or none
};

// A batch of valid articles; `prefixes` name them. Both outlive it. `revisions` is one for each, or
// empty.
std::vector<Sent> ToSent(std::span<const Article> articles, std::span<const std::string> prefixes,
                         std::span<const int64_t> revisions = {});

// `latest` is the time beyond which publish times are clamped.
UpsertPlan PlanUpserts(std::span<const Sent> sent, Known known, Time latest, Time now);

}  // namespace winnow::newsfeed
