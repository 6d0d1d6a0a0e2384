#include "services/newsfeed/write/item_consumer.h"
#include "services/platform/proto/timestamp.h"
#include "tests/integration/newsfeed/fixture.h"

namespace winnow::newsfeed {
namespace {

using events::Envelope;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The consumer with a collector that is a map.
class Pipeline : public NewsFeedTest {
 protected:
  Pipeline() { consumer_.Start(std::make_shared<Collector>(*this)); }
  struct Collector final : ItemConsumer::Items {
    explicit Collector(const Pipeline& test) : test(test) {}
    StatusOr<std::vector<StatusOr<CollectedItem>>> Read(
        const rpc::CallContext&, const std::vector<std::string>& ids) const override {
      return test.Read(ids);
    }
    const Pipeline& test;
  };

  StatusOr<std::vector<StatusOr<CollectedItem>>> Read(const std::vector<std::string>& ids) const {
    WINNOW_RETURN_IF_ERROR(collector_away_);
    std::vector<StatusOr<CollectedItem>> items;
    for (const std::string& id : ids) {
      const auto found = items_.find(id);
      items.push_back(found == items_.end() ? NotFound("item", id)
                                            : StatusOr<CollectedItem>(found->second));
    }
    return items;
  }

  CollectedItem& Collect(const std::string& id) {
    CollectedItem& item = items_[id];
    item.id = id;
    item.ns = "default";
    item.channel = "outlet";
    item.url = "https://news.example/" + id;
    item.title = "Title of " + id;
    item.arrival_time = clock_.Now();
    return item;
  }

  static Envelope Accepted(const std::string& id) {
    Envelope envelope;
    envelope.set_namespace_("default");
    envelope.mutable_item_accepted()->set_item_id(id);
    return envelope;
  }

  static Envelope Duplicate(const std::string& id, const std::string& original,
                            const std::string& channel = "other") {
    Envelope envelope;
    envelope.set_namespace_("default");
    auto& found = *envelope.mutable_duplicate_found();
    found.set_item_id(id);
    found.set_original_item_id(original);
    found.set_channel(channel);
    *found.mutable_arrival_time() = ToTimestamp(winnow::test::FakeClock::kStart);
    return envelope;
  }

  std::vector<StatusCode> Deliver(const std::vector<Envelope>& envelopes) {
    const size_t consumer = envelopes[0].has_item_accepted() ? 0 : 1;
    std::vector<StatusCode> codes;
    for (const Status& status : consumer_.Consumers()[consumer].deliver(envelopes)) {
      codes.push_back(status.code());
    }
    return codes;
  }

  std::map<std::string, CollectedItem> items_;
  Status collector_away_;
  ItemConsumer consumer_{writer_, categories_, upserts_, DefaultCategoryRules()};
};

TEST_F(Pipeline, TurnsAnAcceptedItemIntoAnArticle) {
  Create("society");
  CollectedItem& item = Collect("a");
  item.source_categories = {"Society", "_all_", "unknown"};
  item.keywords = {"x", ""};
  item.ai_tags = {"y", ""};
  item.source_icon_url = "https://outlet.example/icon.png";
  item.image_url = "https://img.example/a";
  item.publish_time = clock_.Now() - std::chrono::hours(1);
  EXPECT_THAT(Deliver({Accepted("a")}), ElementsAre(StatusCode::kOk));
  const v1::Article article = *Get("a");
  EXPECT_EQ(article.source(), "outlet");
  EXPECT_EQ(article.thumbnail_url(), "https://img.example/a");
  EXPECT_THAT(article.keywords(), ElementsAre("x"));
  EXPECT_THAT(article.ai_tags(), ElementsAre("y"));
  EXPECT_EQ(article.source_icon_url(), "https://outlet.example/icon.png");
  ASSERT_EQ(article.categories_size(), 1);
  EXPECT_EQ(article.categories(0).category_id(), "society");
  EXPECT_EQ(article.categories(0).rule(), "source category");
  EXPECT_THAT(Scroll(Feed("society")), ElementsAre("a"));
  EXPECT_EQ(*FromTimestamp(article.publish_time()), *item.publish_time);
}

TEST_F(Pipeline, PutsAnItemWhereTheRulesFindIt) {
  Create("energy");
  CollectedItem& item = Collect("a");
  item.title = "태양광 발전소가 AI를 쓴다";
  item.keywords = {"ONLY AVAILABLE IN PAID PLANS", "kept"};
  item.source_categories = {"only available in energy plans"};
  EXPECT_THAT(Deliver({Accepted("a")}), ElementsAre(StatusCode::kOk));
  const v1::Article article = *Get("a");
  ASSERT_EQ(article.categories_size(), 1) << "ai is no category here";
  EXPECT_EQ(article.categories(0).category_id(), "energy");
  EXPECT_EQ(article.categories(0).rule(), "words: 태양광");
  EXPECT_EQ(article.categories(0).field(), "title");
  EXPECT_EQ(article.categories(0).span_begin(), 0);
  EXPECT_EQ(article.categories(0).span_end(), 3);
  EXPECT_DOUBLE_EQ(article.categories(0).score(), 0.5);
  EXPECT_THAT(article.keywords(), ElementsAre("kept")) << "a placeholder is absent";
  EXPECT_THAT(Scroll(Feed("energy")), ElementsAre("a"));
  EXPECT_THAT(Scroll(Feed("uncategorized")), IsEmpty());
}

TEST_F(Pipeline, CategorizesWhatCallersSendWhenTheyAskForIt) {
  Create("energy");
  Create("ai");
  v1::BatchUpsertArticlesRequest request;
  *request.add_articles() = Make("a", {}, {"ai"});
  request.mutable_articles(0)->set_title("Solar power and AI");
  ASSERT_TRUE(article_handlers_.BatchUpsertArticles(Call(), request).ok());
  EXPECT_EQ(Get("a")->categories_size(), 1);
  request.set_categorize(true);
  ASSERT_TRUE(article_handlers_.BatchUpsertArticles(Call(), request).ok());
  ASSERT_EQ(Get("a")->categories_size(), 2);
  EXPECT_EQ(Get("a")->categories(0).rule(), "caller") << "what the caller says stays";
  EXPECT_EQ(Get("a")->categories(1).category_id(), "energy");
}

TEST_F(Pipeline, SeedsANamespaceThatHasNoCategories) {
  std::vector<Category> seeds(2);
  seeds[0].id = "x";
  seeds[0].display_name = "X";
  seeds[1].id = "y";
  seeds[1].display_name = "Y";
  EXPECT_EQ(*tree_.Seed(Soon(), "default", seeds), 2);
  EXPECT_EQ(*tree_.Seed(Soon(), "default", seeds), 0);
  EXPECT_EQ(Count("SELECT count(*) FROM newsfeed.categories"), 2);
}

TEST_F(Pipeline, SortsItemsWithoutAPublishTimeByTheirArrival) {
  Collect("a").arrival_time = At("2022-08-01T03:00:00Z");
  Deliver({Accepted("a")});
  EXPECT_EQ(FormatTime(*FromTimestamp(Get("a")->publish_time())), "2022-08-01T03:00:00Z");
}

TEST_F(Pipeline, ServesItemsWithoutAUrlEachForItself) {
  Collect("a").url = "";
  Collect("b").url = "";
  Deliver({Accepted("a"), Accepted("b")});
  EXPECT_THAT(Scroll(Feed("uncategorized")), ::testing::UnorderedElementsAre("a", "b"));
}

TEST_F(Pipeline, ChangesNothingWhenEventsComeAgain) {
  Collect("a");
  Collect("b").url = "https://news.example/a";
  for (int round = 0; round < 3; ++round) {
    EXPECT_THAT(Deliver({Accepted("b"), Accepted("a")}),
                ElementsAre(StatusCode::kOk, StatusCode::kOk));
    EXPECT_THAT(Deliver({Accepted("a")}), ElementsAre(StatusCode::kOk));
  }
  EXPECT_EQ(Count("SELECT count(*) FROM newsfeed.news_articles"), 1);
  EXPECT_EQ(Get("a")->revision(), 1);
}

TEST_F(Pipeline, TellsWhichItemsAreLostAndKeepsTheOthers) {
  Collect("a");
  Collect("bad").title = "";
  EXPECT_THAT(Deliver({Accepted("a"), Accepted("gone"), Accepted("bad")}),
              ElementsAre(StatusCode::kOk, StatusCode::kNotFound, StatusCode::kInvalidArgument));
  EXPECT_TRUE(Get("a").ok());
}

TEST_F(Pipeline, ComesAgainWhileTheCollectorIsAway) {
  Collect("a");
  collector_away_ = Unavailable(Reason::kPeerUnavailable, "collector", std::chrono::seconds(1));
  EXPECT_THAT(Deliver({Accepted("a")}), ElementsAre(StatusCode::kUnavailable));
  collector_away_ = OkStatus();
  EXPECT_THAT(Deliver({Accepted("a")}), ElementsAre(StatusCode::kOk));
  consumer_.Stop();
  EXPECT_THAT(Deliver({Accepted("a")}), ElementsAre(StatusCode::kUnavailable));
}

TEST_F(Pipeline, CountsEachDuplicateOnce) {
  Collect("a");
  Deliver({Accepted("a")});
  EXPECT_THAT(
      Deliver({Duplicate("d1", "a", "y"), Duplicate("d2", "a", "x"), Duplicate("d1", "a", "y")}),
      ElementsAre(StatusCode::kOk, StatusCode::kOk, StatusCode::kOk));
  Deliver({Duplicate("d2", "a", "x"), Duplicate("d3", "a", "x")});
  EXPECT_EQ(Get("a")->citation_count(), 3);
  EXPECT_THAT(Get("a")->citation_channels(), ElementsAre("x", "y"));
  EXPECT_EQ(List(Feed()).articles(0).citation_count(), 3);
  EXPECT_EQ(Get("a")->revision(), 1) << "a citation is no change of content";
}

TEST_F(Pipeline, CountsCitationsThatCameBeforeTheirArticle) {
  Deliver({Duplicate("d1", "a", "y"), Duplicate("d2", "a", "x")});
  EXPECT_EQ(Get("a").status().code(), StatusCode::kNotFound);
  Collect("a");
  Deliver({Accepted("a")});
  EXPECT_EQ(Get("a")->citation_count(), 2);
  EXPECT_THAT(Get("a")->citation_channels(), ElementsAre("x", "y"));
}

TEST_F(Pipeline, CountsCitationsOfAMergedItemForTheArticle) {
  Deliver({Duplicate("d1", "b"), Duplicate("d2", "a")});
  Collect("a");
  Collect("b").url = "https://news.example/a";
  Deliver({Accepted("a")});
  EXPECT_EQ(Get("a")->citation_count(), 1);
  Deliver({Accepted("b")});
  EXPECT_EQ(Get("a")->citation_count(), 2) << "what came before the merge moves";
  Deliver({Duplicate("d3", "b"), Duplicate("d1", "b")});
  EXPECT_EQ(Get("a")->citation_count(), 3) << "what comes after it counts";
}

TEST_F(Pipeline, RefusesCitationsThatNoServiceOfOursWrites) {
  EXPECT_THAT(
      Deliver({Duplicate("a", "a"), Duplicate("d", "a"), Duplicate("d2", "")}),
      ElementsAre(StatusCode::kInvalidArgument, StatusCode::kOk, StatusCode::kInvalidArgument));
}

TEST_F(Pipeline, NamesAtMostAHundredChannels) {
  Collect("a");
  Deliver({Accepted("a")});
  std::vector<Envelope> envelopes;
  for (int i = 0; i < 150; ++i) {
    envelopes.push_back(Duplicate("d" + std::to_string(i), "a", "c" + std::to_string(1000 + i)));
  }
  Deliver(envelopes);
  EXPECT_EQ(Get("a")->citation_count(), 150);
  EXPECT_EQ(Get("a")->citation_channels_size(), 100);
  EXPECT_EQ(Get("a")->citation_channels(99), "c1099");
}

}  // namespace
}  // namespace winnow::newsfeed
