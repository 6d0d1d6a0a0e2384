#include <google/protobuf/stubs/logging.h>

#include "services/newsfeed/api/convert.h"
#include "services/newsfeed/articles/article.h"
#include "services/newsfeed/articles/category.h"
#include "services/newsfeed/feed/feed_query.h"
#include "services/newsfeed/keywords/keywords.h"
#include "services/platform/base/page_token.h"
#include "services/platform/base/text.h"
#include "tests/fuzz/targets.h"

namespace winnow::fuzz {
namespace {

using newsfeed::EncodeFeedToken;
using newsfeed::FeedPosition;
using newsfeed::ParseFeedToken;

// Whatever was done to a token: refused as a bad page token, or a place in the same feed that the
// store can be asked for.
void CheckPosition(const StatusOr<FeedPosition>& parsed, uint64_t filter_hash) {
  if (!parsed.ok()) {
    FUZZ_CHECK(ReasonOf(parsed.status()) == Reason::kInvalidPageToken);
    FUZZ_CHECK(ViolationsOf(parsed.status()).size() == 1);
    return;
  }
  if (parsed->before) {
    const std::string& id = parsed->before->id;
    FUZZ_CHECK(id.empty() || newsfeed::IsArticleId(id));
    const std::chrono::year_month_day date(
        std::chrono::floor<std::chrono::days>(parsed->before->publish_time));
    FUZZ_CHECK(1 <= static_cast<int>(date.year()) && static_cast<int>(date.year()) <= 9999);
  }
  FUZZ_CHECK(parsed->since >= 0 && parsed->until.value_or(parsed->since) >= parsed->since);
  FUZZ_CHECK(IsValidUtf8(parsed->epoch) && parsed->epoch.find('\0') == std::string::npos);
  const auto again = ParseFeedToken(EncodeFeedToken(*parsed, filter_hash), filter_hash);
  FUZZ_CHECK(again.ok() && *again == *parsed);
}

constexpr std::string_view kTokenSeeds[] = {"1737100800000_naver_abc123",
                                            "-62135596800000_a",
                                            "253402300799999_12_34",
                                            "AR8HAAAAAAAAAG4BAAAAAAAAAA",
                                            "_",
                                            "-",
                                            "99999999999999999999_x"};

void FuzzFeedToken(std::string_view bytes) { CheckPosition(ParseFeedToken(bytes, 7), 7); }

// Tokens whose checksum is right and whose content is anything: the checksum keeps no secret.
void FuzzFeedTokenContent(std::string_view bytes) {
  PageTokenWriter writer(31, 7);
  for (size_t at = 0; at < bytes.size();) {
    const auto head = static_cast<unsigned char>(bytes[at++]);
    if (head % 2 == 0) {
      const std::string_view text = bytes.substr(at, head % 16);
      writer.Add(text);
      at += text.size();
    } else {
      int64_t number = head % 3 == 0 ? -1 : head % 5;
      for (int i = 0; i < head % 8 && at < bytes.size(); ++i, ++at) {
        number = static_cast<int64_t>(static_cast<uint64_t>(number) << 8 |
                                      static_cast<unsigned char>(bytes[at]));
      }
      writer.Add(number);
    }
  }
  CheckPosition(ParseFeedToken(std::move(writer).Finish(), 7), 7);
}

constexpr std::string_view kArticleSeeds[] = {
    "\x0a\x01"
    "a\x1a\x16https://news.example/1\x22\x01T2\x01s\x7a\x02\x08\x01",
    "\x5a\x0d\x0a\x02"
    "ai\x19\x00\x00\x00\x00\x00\x00\xe0\x3f",
    "javascript:alert(1)", "https://www.example.com/a?b=1"};

// An article with any content is refused with its fields named, or may be stored.
void FuzzArticle(std::string_view bytes) {
  const google::protobuf::LogSilencer quiet;  // of what is no UTF-8
  newsfeed::v1::Article sent;
  if (!sent.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  Violations violations;
  const newsfeed::Article article = newsfeed::FromProto(sent, "articles[0].", violations);
  for (const Violation& violation : violations.all()) {
    FUZZ_CHECK(violation.field.starts_with("articles[0].") && !violation.description.empty());
  }
  if (!violations.empty()) return;
  FUZZ_CHECK(newsfeed::IsArticleId(article.id) && !article.canonical_url.empty());
  FUZZ_CHECK(article.title.find('\0') == std::string::npos);
  const Time latest = article.publish_time + std::chrono::minutes(1);
  newsfeed::StoredArticle stored = newsfeed::NewArticle(article, latest, latest);
  FUZZ_CHECK(!newsfeed::Replace(stored, article, latest, latest));
  FUZZ_CHECK(!newsfeed::Merge(stored, article, latest, latest));
}

constexpr std::string_view kSlugSeeds[] = {"Science & Tech", "_all_", "IT과학", "ＡＩ", "a-b"};

void FuzzSlug(std::string_view bytes) {
  const std::string slug = newsfeed::ToSlug(bytes);
  FUZZ_CHECK(slug.empty() || (IsSlug(slug) && newsfeed::ToSlug(slug) == slug));
}

constexpr std::string_view kKeywordSeeds[] = {"a AND (b OR NOT c)", "\"a \\\" b\" OR 기후",
                                              "NOT (a AND b) AND NOT NOT c", "((((a", "\""};

// Refused with one violation, or alternatives that say the same when they are read again.
void FuzzKeywords(std::string_view bytes) {
  const auto parsed = newsfeed::ParseKeywordExpression(bytes);
  if (!parsed.ok()) {
    FUZZ_CHECK(ViolationsOf(parsed.status()).size() == 1);
    return;
  }
  FUZZ_CHECK(!parsed->empty() && parsed->size() <= newsfeed::kMaxAlternatives);
  for (const newsfeed::KeywordAlternative& one : *parsed) {
    FUZZ_CHECK(one.all.size() + one.none.size() > 0);
    FUZZ_CHECK(newsfeed::Holds(*parsed, one.all));
  }
  FUZZ_CHECK(newsfeed::ToQueryText(*parsed).find('\0') == std::string::npos);
}

constexpr Target kTargets[] = {{"feed_token", FuzzFeedToken, kTokenSeeds},
                               {"feed_token_content", FuzzFeedTokenContent, kTokenSeeds},
                               {"article", FuzzArticle, kArticleSeeds},
                               {"slug", FuzzSlug, kSlugSeeds},
                               {"keywords", FuzzKeywords, kKeywordSeeds}};

}  // namespace

std::span<const Target> NewsFeedTargets() { return kTargets; }

}  // namespace winnow::fuzz
