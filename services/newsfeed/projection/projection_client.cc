#include "services/newsfeed/projection/projection_client.h"

#include <charconv>
#include <map>

#include "services/platform/base/base64url.h"
#include "services/platform/base/timestamp.h"

namespace winnow::newsfeed {
namespace {

constexpr char kSwap[] = R"(
local staging, state = KEYS[EXTRA_KEYS], KEYS[EXTRA_KEYS + 1]
local fence, position, epoch = ARGV[EXTRA], ARGV[EXTRA + 1], ARGV[EXTRA + 2]
if not owned() then return refuse() end
local written = redis.call('HGET', state, 'fence')
if written and redis.call('HGET', state, 'epoch') == epoch
    and tonumber(written) > tonumber(fence) then return 0 end
redis.call('DEL', staging)
if #ARGV == EXTRA + 4 then
  redis.call('DEL', K)
else
  for i = EXTRA + 5, #ARGV, 2 do redis.call('ZADD', staging, ARGV[i], ARGV[i + 1]) end
  redis.call('RENAME', staging, K)
end
own()
redis.call('DEL', state)
redis.call('HSET', state, 'fence', fence, 'position', position, 'epoch', epoch,
  'whole', ARGV[EXTRA + 3], 'entries', ARGV[EXTRA + 4])
redis.call('PEXPIRE', state, ARGV[3])
return 1
)";

constexpr char kReplaceHash[] = R"(
if not owned() then return refuse() end
redis.call('DEL', K)
redis.call('HSET', K, unpack(ARGV, EXTRA))
own()
return 1
)";

// KEYS: the lock. ARGV: holder, seconds. Locks of processes that no longer have the lease do not
// count: this one has it.
constexpr char kLock[] = R"(
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'none' and
    (kind ~= 'string' or string.sub(redis.call('GET', KEYS[1]), 1, 7) ~= 'winnow:') then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1
)";

constexpr char kUnlock[] = R"(
if redis.call('TYPE', KEYS[1]).ok ~= 'string' then return 0 end
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
)";

int64_t MillisOf(const FeedKey& key) { return key.publish_time.time_since_epoch().count(); }

std::string Join(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : ",") + text;
  return joined;
}

std::optional<int64_t> NumberOf(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Time ToTime(Millis time) {
  return Time(std::chrono::duration_cast<Micros>(time.time_since_epoch()));
}

}  // namespace

redis::PublishedKey PublishedFeed(const std::string& category) {
  return {FeedKeyOf(category), "zset", std::chrono::seconds(kFeedTtlSeconds), StateKeyOf(category),
          "entries"};
}

redis::PublishedKey PublishedMeta(const std::string& category) {
  const std::string key = MetaKeyOf(category);
  return {key, "hash", std::chrono::seconds(kFeedTtlSeconds), key, "revision"};
}

redis::PublishedKey PublishedArticle(const std::string& id) {
  const std::string key = ArticleKeyOf(id);
  return {key, "hash", std::chrono::seconds(kArticleTtlSeconds), key, kWireField};
}

redis::ScriptCall MakeArticle(const StoredArticle& article, const std::string& bytes) {
  const Article& content = article.content;
  std::vector<std::string> categories;
  for (const CategoryLabel& label : content.categories) categories.push_back(label.id);
  return redis::CallOn(PublishedArticle(content.id), {},
                       {"id",
                        content.id,
                        "url",
                        content.url,
                        "title",
                        content.title,
                        "snippet",
                        content.snippet,
                        "source",
                        content.source,
                        "source_name",
                        content.source_name,
                        "source_icon_url",
                        content.source_icon_url,
                        "thumbnail_url",
                        content.thumbnail_url,
                        "video_url",
                        content.video_url,
                        "category",
                        categories.empty() ? "uncategorized" : categories.front(),
                        "categories",
                        Join(categories),
                        "keywords",
                        Join(content.keywords),
                        "ai_tag",
                        content.ai_tags.empty() ? "" : content.ai_tags.front(),
                        "language",
                        content.language,
                        "published_at",
                        FormatTime(ToTime(article.publish_time)),
                        "published_at_ms",
                        std::to_string(article.publish_time.time_since_epoch().count()),
                        "revision",
                        std::to_string(article.revision),
                        kWireField,
                        EncodeBase64Url(bytes)});
}

redis::ScriptCall MakeMeta(const std::string& category, const ProjectionState& state,
                           const std::string& now, bool stale) {
  return redis::CallOn(
      PublishedMeta(category), {},
      {"last_refresh", now, "article_count", std::to_string(state.entries.size()), "is_stale",
       stale ? "true" : "false", "revision", std::to_string(state.position)});
}

const redis::Script& ReplaceHashScript() {
  static const redis::Script kScript = redis::OwnershipScript(kReplaceHash);
  return kScript;
}

const redis::Script& SwapScript() {
  static const redis::Script kScript = redis::OwnershipScript(kSwap);
  return kScript;
}

const redis::Script& LockScript() {
  static const redis::Script kScript{kLock};
  return kScript;
}

const redis::Script& UnlockScript() {
  static const redis::Script kScript{kUnlock};
  return kScript;
}

redis::ScriptCall MakeSwap(const std::string& category, const ProjectionState& state) {
  std::vector<std::string> arguments = {std::to_string(state.fence), std::to_string(state.position),
                                        state.epoch, state.whole ? "1" : "0",
                                        PackEntries(state.entries)};
  for (const ProjectedEntry& entry : state.entries) {
    arguments.push_back(std::to_string(MillisOf(entry.key)));
    arguments.push_back(entry.key.id);
  }
  return redis::CallOn(PublishedFeed(category), {StagingKeyOf(category), StateKeyOf(category)},
                       std::move(arguments));
}

std::optional<ProjectionState> ReadState(
    const std::vector<std::pair<std::string, std::string>>& fields) {
  std::map<std::string, std::string> values(fields.begin(), fields.end());
  const std::optional<int64_t> position = NumberOf(values["position"]);
  const std::optional<int64_t> fence = NumberOf(values["fence"]);
  auto entries = UnpackEntries(values["entries"]);
  if (!position || !fence || !entries || entries->size() > size_t{kProjectedArticles}) {
    return std::nullopt;
  }
  return ProjectionState{*position, values["epoch"], *fence, values["whole"] == "1",
                         *std::move(entries)};
}

}  // namespace winnow::newsfeed
