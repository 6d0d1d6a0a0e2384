#include "services/newsfeed/worker_projection_script.h"

#include <charconv>
#include <map>

#include "services/platform/base64url.h"
#include "services/platform/timestamp.h"

namespace winnow::newsfeed {
namespace {

constexpr char kSwap[] = R"(
local written = redis.call('HGET', KEYS[3], 'fence')
if written and redis.call('HGET', KEYS[3], 'epoch') == ARGV[3]
    and tonumber(written) > tonumber(ARGV[1]) then return 0 end
redis.call('DEL', KEYS[2])
if #ARGV == 6 then
  redis.call('DEL', KEYS[1])
else
  for i = 7, #ARGV, 2 do redis.call('ZADD', KEYS[2], ARGV[i], ARGV[i + 1]) end
  redis.call('RENAME', KEYS[2], KEYS[1])
  redis.call('EXPIRE', KEYS[1], ARGV[6])
end
redis.call('DEL', KEYS[3])
redis.call('HSET', KEYS[3], 'fence', ARGV[1], 'position', ARGV[2], 'epoch', ARGV[3],
  'whole', ARGV[4], 'entries', ARGV[5])
redis.call('EXPIRE', KEYS[3], ARGV[6])
return 1
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

void AppendArticle(const StoredArticle& article, const std::string& bytes,
                   std::vector<redis::Command>& commands) {
  const Article& content = article.content;
  const std::string key = ArticleKeyOf(content.id);
  std::vector<std::string> categories;
  for (const CategoryLabel& label : content.categories) categories.push_back(label.id);
  commands.push_back({"HSET",
                      key,
                      "id",
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
  commands.push_back({"EXPIRE", key, std::to_string(kArticleTtlSeconds)});
}

void AppendMeta(const std::string& category, const ProjectionState& state, const std::string& now,
                bool stale, std::vector<redis::Command>& commands) {
  const std::string key = MetaKeyOf(category);
  commands.push_back({"HSET", key, "last_refresh", now, "article_count",
                      std::to_string(state.entries.size()), "is_stale", stale ? "true" : "false",
                      "revision", std::to_string(state.position)});
  commands.push_back({"EXPIRE", key, std::to_string(kFeedTtlSeconds)});
}

const redis::Script& SwapScript() {
  static const redis::Script kScript{kSwap};
  return kScript;
}

SwapCall MakeSwap(const std::string& category, const ProjectionState& state) {
  SwapCall call;
  call.keys = {FeedKeyOf(category), StagingKeyOf(category), StateKeyOf(category)};
  call.arguments = {
      std::to_string(state.fence), std::to_string(state.position), state.epoch,
      state.whole ? "1" : "0",     PackEntries(state.entries),     std::to_string(kFeedTtlSeconds)};
  for (const ProjectedEntry& entry : state.entries) {
    call.arguments.push_back(std::to_string(MillisOf(entry.key)));
    call.arguments.push_back(entry.key.id);
  }
  return call;
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
