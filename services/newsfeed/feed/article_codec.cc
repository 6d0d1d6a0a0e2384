#include "services/newsfeed/feed/article_codec.h"

#include <charconv>
#include <utility>

#include "services/platform/proto/timestamp.h"

namespace winnow::newsfeed {
namespace {

// "title 3 6"; nothing for what no rule writes.
void FillSpan(const std::string& span, v1::ArticleCategory& category) {
  const size_t first = span.find(' ');
  const size_t second = first == std::string::npos ? first : span.find(' ', first + 1);
  if (second == std::string::npos) return;
  int begin = 0;
  int end = 0;
  std::from_chars(span.data() + first + 1, span.data() + second, begin);
  std::from_chars(span.data() + second + 1, span.data() + span.size(), end);
  category.set_field(span.substr(0, first));
  category.set_span_begin(begin);
  category.set_span_end(end);
}

void FillTexts(Article& from, v1::Article& to) {
  to.set_id(std::move(from.id));
  to.set_namespace_(std::move(from.ns));
  to.set_url(std::move(from.url));
  to.set_title(std::move(from.title));
  to.set_snippet(std::move(from.snippet));
  to.set_source(std::move(from.source));
  to.set_source_name(std::move(from.source_name));
  to.set_source_icon_url(std::move(from.source_icon_url));
  to.set_thumbnail_url(std::move(from.thumbnail_url));
  to.set_video_url(std::move(from.video_url));
  to.set_language(std::move(from.language));
  for (CategoryLabel& label : from.categories) {
    v1::ArticleCategory& category = *to.add_categories();
    category.set_category_id(std::move(label.id));
    category.set_rule(std::move(label.rule));
    category.set_score(label.score);
    FillSpan(label.span, category);
  }
  for (std::string& keyword : from.keywords) to.add_keywords(std::move(keyword));
  for (std::string& tag : from.ai_tags) to.add_ai_tags(std::move(tag));
}

}  // namespace

v1::Article ToProto(StoredArticle article) {
  v1::Article proto;
  *proto.mutable_raw_publish_time() = ToTimestamp(article.content.publish_time);
  FillTexts(article.content, proto);
  *proto.mutable_publish_time() = ToTimestamp(article.publish_time);
  *proto.mutable_first_publish_time() = ToTimestamp(article.first_publish_time);
  proto.set_publish_time_clamped(article.publish_time_clamped);
  *proto.mutable_create_time() = ToTimestamp(article.create_time);
  *proto.mutable_update_time() = ToTimestamp(article.update_time);
  if (article.delete_time) *proto.mutable_delete_time() = ToTimestamp(*article.delete_time);
  proto.set_revision(article.revision);
  proto.set_citation_count(article.citation_count);
  for (std::string& channel : article.citation_channels) {
    proto.add_citation_channels(std::move(channel));
  }
  return proto;
}

std::shared_ptr<const EncodedArticle> Encode(StoredArticle article) {
  auto encoded = std::make_shared<EncodedArticle>();
  encoded->source = article.content.source;
  encoded->language = article.content.language;
  encoded->has_image = !article.content.thumbnail_url.empty();
  encoded->terms = ToTerms(article.content.keywords, article.content.ai_tags);
  encoded->bytes = ToProto(std::move(article)).SerializeAsString();
  return encoded;
}

std::shared_ptr<const EncodedArticle> Decode(std::string bytes) {
  v1::Article article;
  if (!article.ParseFromString(bytes)) return nullptr;
  auto encoded = std::make_shared<EncodedArticle>();
  encoded->source = article.source();
  encoded->language = article.language();
  encoded->has_image = !article.thumbnail_url().empty();
  encoded->terms = ToTerms({article.keywords().begin(), article.keywords().end()},
                           {article.ai_tags().begin(), article.ai_tags().end()});
  encoded->bytes = std::move(bytes);
  return encoded;
}

StorePart Encode(FeedPage page) {
  StorePart part;
  part.articles.reserve(page.articles.size());
  for (StoredArticle& article : page.articles) part.articles.push_back(Encode(std::move(article)));
  part.next = std::move(page.next);
  part.since = page.since;
  part.until = page.until;
  part.epoch = std::move(page.epoch);
  part.freshness = {page.changed_at, page.created_at, page.tree_revision};
  return part;
}

}  // namespace winnow::newsfeed
