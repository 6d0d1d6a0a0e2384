#include <algorithm>
#include <utility>

#include "services/newsfeed/api/convert.h"
#include "services/platform/proto/timestamp.h"

// Pages of feeds on the wire: articles that are encoded already are glued, not filled in again.
namespace winnow::newsfeed {
namespace {

constexpr char kArticlesTag = 0x0a;  // field 1 of ListArticlesResponse, length-delimited

std::string NextToken(const FeedQuery& query, const FeedAnswer& answer, uint64_t hash) {
  if (!answer.next) return {};
  FeedPosition position = query.position;
  position.before = answer.next;
  position.since = answer.since;
  position.until = answer.until;
  position.epoch = answer.epoch;
  if (!position.tree) position.tree = answer.freshness.tree_revision;
  return EncodeFeedToken(position, hash);
}

// A process that lags never moves the place back from which a reader wants what is new.
std::string NewerToken(const FeedQuery& query, const FeedAnswer& answer, uint64_t hash) {
  const bool same_history = query.position.epoch.empty() || query.position.epoch == answer.epoch;
  const int64_t asked = same_history ? query.position.until.value_or(0) : 0;
  return EncodeFeedToken({.since = std::max(answer.until, asked), .epoch = answer.epoch}, hash);
}

void AddShare(v1::FeedMeta& meta, v1::Tier tier, size_t count) {
  if (count == 0) return;
  v1::TierShare& share = *meta.add_tiers();
  share.set_tier(tier);
  share.set_article_count(static_cast<int32_t>(count));
}

void FillMeta(const FeedQuery& query, const FeedAnswer& answer, v1::FeedMeta& meta) {
  AddShare(meta, v1::TIER_MEMORY, answer.from_memory);
  AddShare(meta, v1::TIER_STORE, answer.articles.size() - answer.from_memory);
  if (answer.freshness.changed_at) {
    *meta.mutable_last_refresh_time() = ToTimestamp(*answer.freshness.changed_at);
  }
  meta.set_stale(answer.stale);
  meta.set_cached_count(static_cast<int32_t>(answer.cached));
  if (answer.from_memory > 0) {
    meta.set_memory_filled_from(answer.source == FillSource::kRedis ? v1::TIER_REDIS
                                                                    : v1::TIER_STORE);
  }
  meta.set_degraded(answer.IsDegraded());
  if (answer.behind) meta.add_degraded_reasons(v1::DEGRADED_REASON_MEMORY_BEHIND);
  if (answer.cut) meta.add_degraded_reasons(v1::DEGRADED_REASON_PAGE_CUT);
  const std::optional<int64_t>& began = query.position.tree;
  meta.set_tree_changed(began && *began != answer.freshness.tree_revision);
}

void AppendVarint(size_t value, std::string& bytes) {
  while (value >= 0x80) {
    bytes += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  bytes += static_cast<char>(value);
}

}  // namespace

v1::WatchArticlesResponse Progress(const FeedQuery& query, int64_t position,
                                   const std::string& epoch) {
  v1::WatchArticlesResponse response;
  response.set_resume_token(EncodeFeedToken({.since = position, .epoch = epoch},
                                            HashFeed(query.ns, query.category, query.filter)));
  return response;
}

v1::WatchArticlesResponse ToProto(const FeedQuery& query, const FeedEvent& event, int64_t cursor,
                                  const std::string& epoch) {
  v1::WatchArticlesResponse response = Progress(query, event.seq, epoch);
  if (event.article == nullptr) {
    response.mutable_tombstone()->set_id(event.id);
    return response;
  }
  v1::WatchedArticle& watched = *response.mutable_article();
  watched.mutable_article()->ParseFromString(event.article->bytes);
  watched.set_entered(event.entered_at > cursor);
  return response;
}

v1::WatchArticlesResponse Gap(const FeedQuery& query, int64_t position, const std::string& epoch) {
  v1::WatchArticlesResponse response = Progress(query, position, epoch);
  response.mutable_gap()->set_reason(
      "changes since this token are no longer available: list the feed again without a token");
  return response;
}

std::string EncodeResponse(const FeedQuery& query, const FeedAnswer& answer) {
  const uint64_t hash = HashFeed(query.ns, query.category, query.filter);
  v1::ListArticlesResponse rest;  // all but the articles
  rest.set_next_page_token(NextToken(query, answer, hash));
  rest.set_newer_token(NewerToken(query, answer, hash));
  FillMeta(query, answer, *rest.mutable_meta());
  constexpr size_t kMaxFraming = 11;
  size_t size = rest.ByteSizeLong();
  for (const auto& article : answer.articles) size += article->bytes.size() + kMaxFraming;
  std::string bytes;
  bytes.reserve(size);
  for (const auto& article : answer.articles) {
    bytes += kArticlesTag;
    AppendVarint(article->bytes.size(), bytes);
    bytes += article->bytes;
  }
  rest.AppendToString(&bytes);
  return bytes;
}

}  // namespace winnow::newsfeed
