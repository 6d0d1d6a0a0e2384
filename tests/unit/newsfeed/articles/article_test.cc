#include "services/newsfeed/articles/article.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "services/platform/base/timestamp.h"

namespace winnow::newsfeed {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Time At(const char* text) { return *ParseTime(text); }

Article Valid() {
  Article article;
  article.id = "naver_1";
  article.url = "https://news.example/1";
  article.title = "A headline";
  article.source = "example";
  article.publish_time = At("2026-02-01T00:00:00.123456Z");
  return article;
}

std::vector<Violation> Check(Article& article, UrlRule rule = UrlRule::kRequired) {
  Violations violations;
  Validate(article, rule, "articles[3].", violations);
  return violations.all();
}

auto Names(const std::string& field, const std::string& text) {
  return AllOf(Field(&Violation::field, field), Field(&Violation::description, HasSubstr(text)));
}

const Time kNow = At("2026-02-02T00:00:00Z");
const Time kLatest = kNow + std::chrono::minutes(10);

TEST(ArticleRules, AcceptAnArticleWithItsRequiredFieldsAlone) {
  Article article = Valid();
  EXPECT_THAT(Check(article), IsEmpty());
}

TEST(ArticleRules, SetTheCanonicalUrl) {
  Article article = Valid();
  article.url = "http://www.news.example:80/1?utm_source=x#top";
  EXPECT_THAT(Check(article), IsEmpty());
  EXPECT_EQ(article.canonical_url, "https://news.example/1");
}

TEST(ArticleRules, ListEveryViolationAtOnce) {
  Article article = Valid();
  article.ns = "Default";
  article.id = "a{b}";
  article.url = "ftp://news.example/1";
  article.title = "";
  article.snippet = std::string(kMaxSnippet + 1, 'x');
  article.source = std::string("a\0b", 3);
  article.source_name = std::string(kMaxSourceName + 1, 'x');
  article.thumbnail_url = "javascript:alert(1)";
  article.video_url = "//cdn.example/v";
  article.categories = {{.id = "ai"}, {.id = "ai"}, {.id = "A I"}, {.id = "x", .score = 1.5}};
  article.keywords = {"ok", "", std::string(kMaxTag + 1, 'k')};
  article.ai_tags.assign(kMaxTags + 1, "t");
  article.language = "ko KR";
  EXPECT_THAT(
      Check(article),
      UnorderedElementsAre(
          Names("articles[3].namespace", "[a-z0-9-]"), Names("articles[3].id", "[A-Za-z0-9._:-]"),
          Names("articles[3].url", "http"), Names("articles[3].title", "required"),
          Names("articles[3].snippet", "20001 characters, the limit is 20000"),
          Names("articles[3].source", "NUL"), Names("articles[3].source_name", "limit is 200"),
          Names("articles[3].thumbnail_url", "http"), Names("articles[3].video_url", "http"),
          Names("articles[3].categories[1].category_id", "repeats"),
          Names("articles[3].categories[2].category_id", "[a-z0-9-]"),
          Names("articles[3].categories[3].score", "within 0 and 1"),
          Names("articles[3].keywords[1]", "required"),
          Names("articles[3].keywords[2]", "limit is 100"),
          Names("articles[3].ai_tags", "limit is 64"), Names("articles[3].language", "BCP 47")));
}

TEST(ArticleRules, CountCharactersAndNotBytes) {
  Article article = Valid();
  for (size_t i = 0; i < kMaxTitle; ++i) article.title += "\xEA\xB0\x80";  // U+AC00
  article.title = article.title.substr(article.title.size() - 3 * kMaxTitle);
  EXPECT_THAT(Check(article), IsEmpty());
  article.title += "!";
  EXPECT_THAT(Check(article), ElementsAre(Names("articles[3].title", "1001 characters")));
}

TEST(ArticleRules, RefuseTooManyCategoriesAndANumberThatIsNone) {
  Article article = Valid();
  for (int i = 0; i < 17; ++i) article.categories.push_back({.id = "c" + std::to_string(i)});
  EXPECT_THAT(Check(article), ElementsAre(Names("articles[3].categories", "limit is 16")));
  article.categories = {{.id = "ai", .score = std::nan("")}};
  EXPECT_THAT(Check(article), ElementsAre(Names("articles[3].categories[0].score", "within")));
}

TEST(ArticleRules, NeedAUrlUnlessThePipelineHasNone) {
  Article article = Valid();
  article.url = "";
  EXPECT_THAT(Check(article), ElementsAre(Names("articles[3].url", "required")));
  EXPECT_THAT(Check(article, UrlRule::kOptional), IsEmpty());
}

TEST(ArticleIds, HoldNoBraces) {
  EXPECT_TRUE(IsArticleId("naver_abc.1:2-3"));
  EXPECT_TRUE(IsArticleId(std::string(128, 'a')));
  EXPECT_FALSE(IsArticleId(std::string(129, 'a')));
  EXPECT_FALSE(IsArticleId(""));
  EXPECT_FALSE(IsArticleId("{ai}"));
  EXPECT_FALSE(IsArticleId("a b"));
  EXPECT_FALSE(IsArticleId(std::string("a\0", 2)));
}

TEST(PublishTimes, AreCutToMillisecondsTowardsThePastAlsoBefore1970) {
  EXPECT_EQ(ToMillis(At("2026-02-01T00:00:00.123999Z")).time_since_epoch().count() % 1000, 123);
  EXPECT_EQ(ToMillis(At("1969-12-31T23:59:59.999999Z")).time_since_epoch().count(), -1);
  EXPECT_EQ(ToMillis(At("0001-01-01T00:00:00.000999Z")).time_since_epoch().count(),
            -62'135'596'800'000);
  EXPECT_EQ(ToMillis(At("9999-12-31T23:59:59.999999Z")).time_since_epoch().count(),
            253'402'300'799'999);
}

TEST(PublishTimes, InTheFutureAreClampedAndKeptAsSent) {
  Article article = Valid();
  article.publish_time = At("2030-01-01T00:00:00Z");
  const StoredArticle stored = NewArticle(article, kLatest, kNow);
  EXPECT_EQ(stored.publish_time, ToMillis(kLatest));
  EXPECT_TRUE(stored.publish_time_clamped);
  EXPECT_EQ(stored.content.publish_time, article.publish_time);
  article.publish_time = kLatest;
  EXPECT_FALSE(NewArticle(article, kLatest, kNow).publish_time_clamped);
}

TEST(Replacing, ChangesNothingForWhatItsIdSentLast) {
  StoredArticle stored = NewArticle(Valid(), kLatest, kNow);
  const StoredArticle before = stored;
  EXPECT_FALSE(Replace(stored, Valid(), kLatest + std::chrono::hours(1), kNow));
  EXPECT_EQ(stored, before);
}

TEST(Replacing, KeepsTheSortKeyAndCountsTheRevision) {
  StoredArticle stored = NewArticle(Valid(), kLatest, kNow);
  Article edit = Valid();
  edit.title = "Another headline";
  edit.publish_time = Valid().publish_time + std::chrono::hours(5);
  const Time later = kNow + std::chrono::hours(1);
  EXPECT_TRUE(Replace(stored, edit, kLatest, later));
  EXPECT_EQ(stored.content.title, "Another headline");
  EXPECT_EQ(stored.revision, 2);
  EXPECT_EQ(stored.update_time, later);
  EXPECT_EQ(stored.create_time, kNow);
  EXPECT_EQ(stored.publish_time, ToMillis(Valid().publish_time));
  EXPECT_EQ(stored.content.publish_time, Valid().publish_time);
  EXPECT_EQ(stored.first_publish_time, stored.publish_time);
}

TEST(Replacing, PutsAnEarlierTimeAside) {
  StoredArticle stored = NewArticle(Valid(), kLatest, kNow);
  Article edit = Valid();
  edit.publish_time = At("2026-01-01T00:00:00Z");
  EXPECT_TRUE(Replace(stored, edit, kLatest, kNow));
  EXPECT_EQ(stored.first_publish_time, ToMillis(edit.publish_time));
  EXPECT_EQ(stored.publish_time, ToMillis(Valid().publish_time));
}

TEST(Replacing, IsNoChangeWhenOnlyALaterTimeIsSent) {
  StoredArticle stored = NewArticle(Valid(), kLatest, kNow);
  Article edit = Valid();
  edit.publish_time += std::chrono::hours(5);
  EXPECT_FALSE(Replace(stored, edit, kLatest, kNow));
  EXPECT_EQ(stored.revision, 1);
}

TEST(Merging, KeepsTheBestOfEachField) {
  Article first = Valid();
  first.title = "A head...";
  first.snippet = "short";
  first.language = "und";
  first.categories = {{.id = "ai", .rule = "a", .score = 0.2}};
  first.keywords = {"x", "y"};
  StoredArticle stored = NewArticle(first, kLatest, kNow);
  Article second = Valid();
  second.id = "rss_9";
  second.title = "A headline that is whole";
  second.snippet = "a longer lead";
  second.language = "en";
  second.source = "other";
  second.source_name = "Other";
  second.thumbnail_url = "https://img.example/1";
  second.categories = {{.id = "ai", .rule = "b", .score = 0.9}, {.id = "energy"}};
  second.keywords = {"y", "z"};
  second.publish_time = At("2026-01-31T00:00:00Z");
  EXPECT_TRUE(Merge(stored, second, kLatest, kNow));
  EXPECT_EQ(stored.content.id, "naver_1");
  EXPECT_EQ(stored.content.title, "A headline that is whole");
  EXPECT_EQ(stored.content.snippet, "a longer lead");
  EXPECT_EQ(stored.content.language, "en");
  EXPECT_EQ(stored.content.source, "example");
  EXPECT_EQ(stored.content.source_name, "") << "the name of another outlet";
  EXPECT_EQ(stored.content.thumbnail_url, "https://img.example/1");
  EXPECT_THAT(stored.content.categories,
              ElementsAre(CategoryLabel{"ai", "b", 0.9}, CategoryLabel{"energy"}));
  EXPECT_THAT(stored.content.keywords, ElementsAre("x", "y", "z"));
  EXPECT_EQ(stored.first_publish_time, ToMillis(second.publish_time));
  EXPECT_EQ(stored.publish_time, ToMillis(first.publish_time));
  EXPECT_EQ(stored.revision, 2);
}

TEST(Merging, NeverTakesAnEmptyFieldForAFullOne) {
  Article first = Valid();
  first.snippet = "lead";
  first.thumbnail_url = "https://img.example/1";
  first.language = "ko";
  StoredArticle stored = NewArticle(first, kLatest, kNow);
  const StoredArticle before = stored;
  EXPECT_FALSE(Merge(stored, Valid(), kLatest, kNow));
  EXPECT_EQ(stored, before);
}

Article Random(std::mt19937& random) {
  const auto pick = [&](std::vector<std::string> from) { return from[random() % from.size()]; };
  Article article = Valid();
  article.id = pick({"a", "b", "c"});
  article.title = pick({"Head", "Headline...", "He\xE2\x80\xA6", "Another"});
  article.snippet = pick({"", "lead", "longer lead", "LEAD"});
  article.source = pick({"one", "two"});
  article.source_name = pick({"", "One"});
  article.thumbnail_url = pick({"", "https://img.example/1", "https://img.example/2"});
  article.language = pick({"", "und", "ko", "en"});
  for (const char* id : {"ai", "energy"}) {
    if (random() % 2 == 0) {
      article.categories.push_back({id, pick({"a", "b"}), static_cast<double>(random() % 5) / 4});
    }
  }
  for (int i = 0; i < 30; ++i) {
    const std::string tag = "k" + std::to_string(random() % 90);
    if (std::find(article.keywords.begin(), article.keywords.end(), tag) == article.keywords.end())
      article.keywords.push_back(tag);
  }
  article.publish_time += std::chrono::hours(static_cast<int>(random() % 96) - 48);
  return article;
}

TEST(Merging, TheSameAgainChangesNothingWhateverCameBefore) {
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    StoredArticle stored = NewArticle(Random(random), kLatest, kNow);
    std::vector<Article> sent;
    for (int i = 0; i < 4; ++i) {
      sent.push_back(Random(random));
      Merge(stored, sent.back(), kLatest, kNow);
    }
    const StoredArticle before = stored;
    for (const Article& again : sent) {
      ASSERT_FALSE(Merge(stored, again, kLatest, kNow)) << "round " << round;
      ASSERT_EQ(stored, before);
    }
  }
}

TEST(ContentHashes, TellApartWhatDiffersInAnyField) {
  std::mt19937 random(2);
  std::vector<Article> articles;
  for (int i = 0; i < 100; ++i) articles.push_back(Random(random));
  for (const Article& a : articles) {
    for (const Article& b : articles) ASSERT_EQ(a == b, ContentHash(a) == ContentHash(b));
  }
  Article moved = Valid();
  moved.title = "A headlin";
  moved.snippet = "e";
  EXPECT_NE(ContentHash(moved), ContentHash(Valid()));
}

}  // namespace
}  // namespace winnow::newsfeed
