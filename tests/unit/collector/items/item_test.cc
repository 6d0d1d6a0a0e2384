#include "services/collector/items/item.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace winnow::collector {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Time kNow = Time(std::chrono::seconds(1'770'000'000));

Item Valid() {
  Item item;
  item.channel = "edaily";
  item.title = "Rates stay where they are";
  item.url = "https://www.example.com/a?id=1&utm_source=x";
  return item;
}

std::vector<std::string> FieldsRefused(Item item) {
  Violations violations;
  Accept(item, kNow, "items[3]", violations);
  std::vector<std::string> fields;
  for (const Violation& violation : violations.all()) fields.push_back(violation.field);
  return fields;
}

std::string WhyRefused(Item item) {
  Violations violations;
  Accept(item, kNow, "item", violations);
  return violations.size() == 1 ? violations.all().front().description : "not one violation";
}

Item Accepted(Item item) {
  Violations violations;
  Accept(item, kNow, "item", violations);
  EXPECT_TRUE(violations.empty());
  return item;
}

TEST(Items, AnItemWithChannelTitleAndUrlIsEnough) {
  const Item item = Accepted(Valid());
  EXPECT_EQ(item.ns, "default");
  EXPECT_EQ(item.canonical_url, "https://example.com/a?id=1");
  EXPECT_EQ(item.language, "en");
  EXPECT_EQ(item.arrival_time, kNow);
  EXPECT_EQ(item.publish_time, kNow);
  EXPECT_TRUE(item.publish_time_assumed);
  EXPECT_EQ(item.create_time, kNow);
  Item reported = Valid();
  reported.publish_time = kNow;
  EXPECT_FALSE(Accepted(reported).publish_time_assumed);
}

TEST(Items, AnExternalIdIsAnIdentityWithoutUrl) {
  Item item = Valid();
  item.url.clear();
  EXPECT_THAT(FieldsRefused(item), ElementsAre("items[3].external_id"));
  item.external_id = "n-1";
  EXPECT_EQ(Accepted(item).canonical_url, "");
}

TEST(Items, EveryViolationIsTold) {
  Item item;
  item.ns = "Not A Slug";
  item.language = "ko_KR";
  item.image_url = "ftp://example.com/a.png";
  item.video_url = "https:///nohost";
  item.keywords = {"fine", ""};
  item.channel_icon_url = "icon.png";
  item.ai_tags = std::vector<std::string>(65, "tag");
  item.snippet = std::string(20'001, 'x');
  EXPECT_THAT(
      FieldsRefused(item),
      testing::UnorderedElementsAre(
          "items[3].namespace", "items[3].channel", "items[3].title", "items[3].external_id",
          "items[3].snippet", "items[3].language", "items[3].channel_icon_url",
          "items[3].image_url", "items[3].video_url", "items[3].keywords[1]", "items[3].ai_tags"));
}

TEST(Items, LimitsCountCharactersAndNotBytes) {
  Item item = Valid();
  item.title.clear();
  for (int i = 0; i < 1'000; ++i) item.title += "가";
  EXPECT_THAT(FieldsRefused(item), IsEmpty());
  item.title += "나";
  EXPECT_THAT(FieldsRefused(item), ElementsAre("items[3].title"));
  EXPECT_THAT(WhyRefused(item), HasSubstr("1001 characters, at most 1000"));
}

struct Limit {
  const char* field;
  std::string Item::*text;
  size_t limit;
};

class EachText : public testing::TestWithParam<Limit> {};

TEST_P(EachText, IsTakenUpToItsLimitAndRefusedBeyond) {
  const Limit& limit = GetParam();
  const bool is_url = std::string(limit.field).ends_with("url");
  const std::string start = is_url ? "https://example.com/" : "";
  Item item = Valid();
  item.*limit.text = start + std::string(limit.limit - start.size(), 'a');
  EXPECT_THAT(FieldsRefused(item), IsEmpty());
  item.*limit.text += 'a';
  EXPECT_THAT(FieldsRefused(item), ElementsAre("items[3]." + std::string(limit.field)));
}

TEST_P(EachText, MayNotHoldTheCharacterZero) {
  Item item = Valid();
  item.*GetParam().text = std::string("https://example.com/a\0b", 23);
  if (std::string(GetParam().field) == "language") item.language = std::string("k\0o", 3);
  EXPECT_THAT(FieldsRefused(item), testing::Contains("items[3]." + std::string(GetParam().field)));
}

INSTANTIATE_TEST_SUITE_P(Items, EachText,
                         testing::Values(Limit{"channel", &Item::channel, 128},
                                         Limit{"external_id", &Item::external_id, 512},
                                         Limit{"url", &Item::url, 2'048},
                                         Limit{"title", &Item::title, 1'000},
                                         Limit{"snippet", &Item::snippet, 20'000},
                                         Limit{"language", &Item::language, 35},
                                         Limit{"channel_name", &Item::channel_name, 200},
                                         Limit{"image_url", &Item::image_url, 2'048},
                                         Limit{"video_url", &Item::video_url, 2'048}),
                         [](const auto& test) { return std::string(test.param.field); });

TEST(Items, CountsAndLengthsOfCategoriesAndKeywordsAreLimited) {
  Item item = Valid();
  item.source_categories.assign(32, std::string(100, 'c'));
  item.keywords.assign(64, std::string(100, 'k'));
  EXPECT_THAT(FieldsRefused(item), IsEmpty());
  item.source_categories.push_back("one more");
  item.keywords[7] += 'k';
  EXPECT_THAT(FieldsRefused(item),
              ElementsAre("items[3].source_categories", "items[3].keywords[7]"));
}

TEST(Items, TextOfSpacesAloneCountsAsMissing) {
  Item item = Valid();
  item.title = " \t\u00a0\u3000";
  item.channel = "  ";
  EXPECT_THAT(FieldsRefused(item), ElementsAre("items[3].channel", "items[3].title"));
  item.title = " \u3000가";
  item.channel = "édition";
  EXPECT_THAT(FieldsRefused(item), IsEmpty());
}

TEST(Items, AUrlThatIsNoneIsRefusedEvenWithAnExternalId) {
  Item item = Valid();
  item.external_id = "n-1";
  for (const char* url : {"nonsense", "ftp://example.com/a", "http://", "javascript:alert(1)"}) {
    item.url = url;
    EXPECT_THAT(FieldsRefused(item), ElementsAre("items[3].url")) << url;
  }
}

TEST(Items, NothingArrivesInTheFuture) {
  Item item = Valid();
  item.arrival_time = kNow + std::chrono::hours(1);
  EXPECT_EQ(Accepted(item).arrival_time, kNow);
  item.arrival_time = kNow - std::chrono::hours(1);
  EXPECT_EQ(Accepted(item).arrival_time, kNow - std::chrono::hours(1));
  EXPECT_EQ(Accepted(item).publish_time, kNow - std::chrono::hours(1));
  item.publish_time = kNow + std::chrono::hours(5);
  EXPECT_EQ(Accepted(item).publish_time, kNow + std::chrono::hours(5));
}

TEST(Items, ALanguageThatIsGivenIsKept) {
  Item item = Valid();
  item.language = "ko-Kore-KR";
  EXPECT_EQ(Accepted(item).language, "ko-Kore-KR");
  item.language.clear();
  item.title = "한국은행 기준금리 동결";
  EXPECT_EQ(Accepted(item).language, "ko");
}

TEST(ItemIdentity, IsTheExternalIdWhenThereIsOneElseTheCanonicalUrl) {
  const Item by_url = Accepted(Valid());
  Item other_form = Valid();
  other_form.url = "http://m.example.com/a/?id=1#top";
  other_form.title = "Another title";
  EXPECT_EQ(IdentityOf(by_url), IdentityOf(Accepted(other_form)));
  EXPECT_TRUE(IsSame(by_url, Accepted(other_form)));

  Item by_id = Valid();
  by_id.external_id = "n-1";
  EXPECT_NE(IdentityOf(by_url), IdentityOf(Accepted(by_id)));
  EXPECT_FALSE(IsSame(by_url, Accepted(by_id)));
  Item same_id = by_id;
  same_id.url = "https://example.com/elsewhere";
  EXPECT_EQ(IdentityOf(Accepted(by_id)), IdentityOf(Accepted(same_id)));
  EXPECT_TRUE(IsSame(Accepted(by_id), Accepted(same_id)));
}

TEST(ItemIdentity, NamespacesAndChannelsKeepItemsApart) {
  const Item item = Accepted(Valid());
  Item other = Valid();
  other.channel = "other";
  EXPECT_NE(IdentityOf(item), IdentityOf(Accepted(other)));
  other = Valid();
  other.ns = "import";
  EXPECT_NE(IdentityOf(item), IdentityOf(Accepted(other)));
  EXPECT_FALSE(IsSame(item, Accepted(other)));
}

TEST(ItemIdentity, AnExternalIdThatLooksLikeAUrlIsAnotherIdentity) {
  const Item by_url = Accepted(Valid());
  Item by_id = Valid();
  by_id.external_id = by_url.canonical_url;
  EXPECT_NE(IdentityOf(by_url), IdentityOf(Accepted(by_id)));
}

}  // namespace
}  // namespace winnow::collector
