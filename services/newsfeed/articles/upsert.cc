#include "services/newsfeed/articles/upsert.h"

#include <set>

namespace winnow::newsfeed {
namespace {

class Planner {
 public:
  Planner(Known known, Time latest, Time now)
      : known_(std::move(known)), latest_(latest), now_(now) {}

  StatusOr<Upserted> Add(const Sent& item) {
    const Article& sent = *item.article;
    WINNOW_RETURN_IF_ERROR(CheckCategories(sent, item.prefix));
    const ArticleKey key{sent.ns, sent.id};
    if (const auto own = known_.articles.find(key); own != known_.articles.end()) {
      // Which of two in one batch is newer is unknown: the later one is merged.
      return item.repeats ? MergeInto(own->second, item, std::nullopt)
                          : ReplaceIn(own->second, item);
    }
    if (const auto alias = known_.aliases.find(key); alias != known_.aliases.end()) {
      return MergeInto(known_.articles.at({sent.ns, alias->second.article_id}), item, key);
    }
    if (!sent.canonical_url.empty()) {
      const auto by_url = known_.ids_by_url.find({sent.ns, sent.canonical_url});
      if (by_url != known_.ids_by_url.end()) {
        return MergeInto(known_.articles.at({sent.ns, by_url->second}), item, key);
      }
    }
    if (item.revision != 0) {
      return Aborted(Reason::kStaleEtag,
                     "article \"" + sent.id + "\" is not stored; send it without revision");
    }
    if (!sent.canonical_url.empty()) known_.ids_by_url[{sent.ns, sent.canonical_url}] = sent.id;
    created_.insert(key);
    in_order_.push_back(key);
    known_.articles[key] = NewArticle(sent, latest_, now_);
    return Upserted{sent.id, UpsertOutcome::kCreated, 1};
  }

  UpsertPlan Finish() && {
    for (const ArticleKey& key : in_order_) plan_.created.push_back(known_.articles.at(key));
    for (auto& [key, before] : before_) {
      plan_.edited.push_back({std::move(before), known_.articles.at(key)});
    }
    plan_.seen.assign(seen_.begin(), seen_.end());
    return std::move(plan_);
  }

 private:
  Status CheckCategories(const Article& sent, const std::string& prefix) const {
    const auto paths = known_.paths.find(sent.ns);
    Violations violations;
    for (size_t i = 0; i < sent.categories.size(); ++i) {
      const std::string& id = sent.categories[i].id;
      if (paths != known_.paths.end() && paths->second.contains(id)) continue;
      violations.Add(prefix + "categories[" + std::to_string(i) + "].category_id",
                     "category \"" + id + "\" does not exist in namespace \"" + sent.ns +
                         "\"; create it first");
    }
    return violations.ToStatus();
  }

  // Keeps what was stored before the first change of this batch.
  void Remember(const StoredArticle& before) {
    const ArticleKey key{before.content.ns, before.content.id};
    if (!created_.contains(key)) before_.emplace(key, before);
  }

  // What was sent last may be sent again, whatever has become of it.
  static Status CheckRevision(const Sent& item, const StoredArticle& stored, Hash128Value last) {
    if (item.revision == 0 || item.revision == stored.revision) return OkStatus();
    if (ContentHash(*item.article) == last) return OkStatus();
    return Aborted(Reason::kStaleEtag, "article \"" + stored.content.id + "\" is at revision " +
                                           std::to_string(stored.revision) + ", not " +
                                           std::to_string(item.revision) + "; read it again");
  }

  StatusOr<Upserted> ReplaceIn(StoredArticle& stored, const Sent& item) {
    const Article& sent = *item.article;
    const std::string old_url = stored.content.canonical_url;
    seen_.insert({sent.ns, sent.id});
    WINNOW_RETURN_IF_ERROR(CheckRevision(item, stored, stored.sent_hash));
    if (sent.canonical_url != old_url && !sent.canonical_url.empty()) {
      const auto by_url = known_.ids_by_url.find({sent.ns, sent.canonical_url});
      if (by_url != known_.ids_by_url.end()) return UrlTaken(by_url->second);
    }
    StoredArticle before = stored;
    if (!Replace(stored, sent, latest_, now_)) {
      return Upserted{sent.id, UpsertOutcome::kUnchanged, stored.revision};
    }
    Remember(before);
    if (stored.content.canonical_url != old_url) {
      if (!old_url.empty()) known_.ids_by_url.erase({sent.ns, old_url});
      if (!sent.canonical_url.empty()) {
        known_.ids_by_url[{sent.ns, sent.canonical_url}] = sent.id;
      }
    }
    return Upserted{sent.id, UpsertOutcome::kUpdated, stored.revision};
  }

  StatusOr<Upserted> MergeInto(StoredArticle& stored, const Sent& item,
                               const std::optional<ArticleKey>& alias) {
    const Article& sent = *item.article;
    const std::string& id = stored.content.id;
    const auto merged = UpsertOutcome::kMerged;
    seen_.insert({sent.ns, id});
    if (alias) {
      const Alias now{id, ContentHash(sent)};
      const auto known = known_.aliases.find(*alias);
      const bool is_new = known == known_.aliases.end();
      if (!is_new && known->second == now) return Upserted{id, merged, stored.revision};
      WINNOW_RETURN_IF_ERROR(CheckRevision(item, stored, {}));
      if (is_new) plan_.new_aliases.push_back(*alias);
      known_.aliases[*alias] = now;
      plan_.aliases[*alias] = now;
    } else {
      WINNOW_RETURN_IF_ERROR(CheckRevision(item, stored, stored.sent_hash));
    }
    StoredArticle before = stored;
    const bool changed = Merge(stored, sent, latest_, now_);
    if (changed) Remember(before);
    const auto outcome = alias     ? merged
                         : changed ? UpsertOutcome::kUpdated
                                   : UpsertOutcome::kUnchanged;
    return Upserted{id, outcome, stored.revision};
  }

  static Status UrlTaken(const std::string& id) {
    return AlreadyExists("article", id,
                         "has the canonical form of this url; send the change under its id, or "
                         "another url");
  }

  Known known_;
  const Time latest_;
  const Time now_;
  UpsertPlan plan_;
  std::vector<ArticleKey> in_order_;  // created_, as they came
  std::set<ArticleKey> created_;
  std::map<ArticleKey, StoredArticle> before_;
  std::set<ArticleKey> seen_;
};

}  // namespace

std::vector<Sent> ToSent(std::span<const Article> articles, std::span<const std::string> prefixes,
                         std::span<const int64_t> revisions) {
  std::vector<Sent> sent;
  sent.reserve(articles.size());
  std::set<std::pair<std::string_view, std::string_view>> ids;
  for (size_t i = 0; i < articles.size(); ++i) {
    const bool repeats = !ids.emplace(articles[i].ns, articles[i].id).second;
    sent.push_back({&articles[i], prefixes[i], repeats, revisions.empty() ? 0 : revisions[i]});
  }
  return sent;
}

UpsertPlan PlanUpserts(std::span<const Sent> sent, Known known, Time latest, Time now) {
  Planner planner(std::move(known), latest, now);
  std::vector<StatusOr<Upserted>> results;
  results.reserve(sent.size());
  for (const Sent& item : sent) results.push_back(planner.Add(item));
  UpsertPlan plan = std::move(planner).Finish();
  plan.results = std::move(results);
  return plan;
}

}  // namespace winnow::newsfeed
