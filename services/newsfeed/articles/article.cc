#include "services/newsfeed/articles/article.h"

#include <bit>
#include <utility>

namespace winnow::newsfeed {
namespace {

void Append(std::string& bytes, uint64_t number) {
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>((number >> (8 * i)) & 0xFF);
}

void Append(std::string& bytes, std::string_view text) {
  Append(bytes, text.size());
  bytes += text;
}

void Append(std::string& bytes, const std::vector<std::string>& texts) {
  Append(bytes, texts.size());
  for (const std::string& text : texts) Append(bytes, text);
}

bool LearnEarlier(StoredArticle& stored, Time sent, Time latest) {
  const Millis time = ClampPublishTime(sent, latest).time;
  if (time >= stored.first_publish_time) return false;
  stored.first_publish_time = time;
  return true;
}

void Touch(StoredArticle& stored, Time now) {
  ++stored.revision;
  stored.update_time = now;
}

}  // namespace

Millis ToMillis(Time time) { return std::chrono::floor<std::chrono::milliseconds>(time); }

SortTime ClampPublishTime(Time sent, Time latest) {
  return sent > latest ? SortTime{ToMillis(latest), true} : SortTime{ToMillis(sent), false};
}

Hash128Value ContentHash(const Article& article) {
  std::string bytes;
  bytes.reserve(512 + article.title.size() + article.snippet.size());
  for (const std::string* text :
       {&article.ns, &article.id, &article.url, &article.title, &article.snippet, &article.source,
        &article.source_name, &article.source_icon_url, &article.thumbnail_url, &article.video_url,
        &article.language}) {
    Append(bytes, *text);
  }
  Append(bytes, article.categories.size());
  for (const CategoryLabel& label : article.categories) {
    Append(bytes, label.id);
    Append(bytes, label.rule);
    Append(bytes, std::bit_cast<uint64_t>(label.score));
    if (!label.span.empty()) Append(bytes, label.span);
  }
  Append(bytes, article.keywords);
  Append(bytes, article.ai_tags);
  Append(bytes, static_cast<uint64_t>(article.publish_time.time_since_epoch().count()));
  return Hash128(bytes);
}

StoredArticle NewArticle(const Article& sent, Time latest, Time now) {
  const SortTime sort = ClampPublishTime(sent.publish_time, latest);
  StoredArticle stored;
  stored.content = sent;
  stored.sent_hash = ContentHash(sent);
  stored.publish_time = sort.time;
  stored.first_publish_time = sort.time;
  stored.publish_time_clamped = sort.clamped;
  stored.create_time = now;
  stored.update_time = now;
  return stored;
}

bool Replace(StoredArticle& stored, const Article& sent, Time latest, Time now) {
  const Hash128Value hash = ContentHash(sent);
  if (hash == stored.sent_hash) return false;  // a replay must not undo what merges have added
  Article content = sent;
  content.publish_time = stored.content.publish_time;
  bool changed = LearnEarlier(stored, sent.publish_time, latest);
  if (content != stored.content) {
    stored.content = std::move(content);
    changed = true;
  }
  if (changed) {
    stored.sent_hash = hash;
    Touch(stored, now);
  }
  return changed;
}

}  // namespace winnow::newsfeed
