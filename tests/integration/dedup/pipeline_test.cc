#include <gmock/gmock.h>

#include <mutex>

#include "tests/integration/dedup/service_fixture.h"
#include "tests/support/collector/collector.h"
#include "tests/support/sync/eventually.h"

// Items that the collector stored become decisions, and events that report them.
namespace winnow::dedup {
namespace {

using ::testing::UnorderedElementsAre;

class DedupPipeline : public DedupServiceTest {
 protected:
  DedupPipeline() {
    for (const char* event : {"winnow.events.v1.ItemAccepted", "winnow.events.v1.DuplicateFound",
                              "winnow.events.v1.CitationThresholdReached"}) {
      platform_.transport().AddConsumer(
          {.service = "test", .event = event, .deliver = [this](auto envelopes) {
             const std::lock_guard lock(mutex_);
             told_.insert(told_.end(), envelopes.begin(), envelopes.end());
             return std::vector<Status>(envelopes.size());
           }});
    }
  }

  collector::v1::BatchPutItemsResponse Put(
      const std::vector<std::pair<std::string, std::string>>& channel_and_title) {
    collector::v1::BatchPutItemsRequest request;
    for (const auto& [channel, title] : channel_and_title) {
      collector::v1::Item& item = *request.add_items();
      item.set_channel(channel);
      item.set_title(title);
      item.set_url("https://" + channel + ".example.com/" + std::to_string(++items_));
    }
    grpc::ClientContext context;
    SetDeadline(context);
    collector::v1::BatchPutItemsResponse response;
    const grpc::Status status = collector_->BatchPutItems(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  bool AwaitTold(size_t count) {
    return test::Eventually([&] {
      const std::lock_guard lock(mutex_);
      return told_.size() >= count;
    });
  }

  int items_ = 0;
  std::mutex mutex_;
  std::vector<events::Envelope> told_;
};

TEST_F(DedupPipeline, EachItemIsAcceptedOrFoundToRepeatAnother) {
  Serve();
  const auto put = Put({{"one", "정부, 새 주거 대책 다음 달 발표한다"},
                        {"two", "(종합) 정부 새 주거 대책 다음달 발표한다"},
                        {"three", "바닷가 작은 도서관이 십 년 만에 문을 닫는다"}});
  ASSERT_TRUE(AwaitTold(3));
  std::vector<std::string> accepted;
  std::vector<std::string> repeated;
  for (const events::Envelope& envelope : told_) {
    EXPECT_EQ(envelope.namespace_(), "default");
    if (envelope.has_item_accepted()) accepted.push_back(envelope.item_accepted().item_id());
    if (!envelope.has_duplicate_found()) continue;
    const auto& found = envelope.duplicate_found();
    repeated.push_back(found.item_id());
    EXPECT_EQ(found.original_item_id(), put.results(0).stored().id());
    EXPECT_EQ(found.channel(), "two");
    EXPECT_EQ(found.url(), "https://two.example.com/2");
    EXPECT_GT(found.arrival_time().seconds(), 0);
  }
  EXPECT_THAT(accepted,
              UnorderedElementsAre(put.results(0).stored().id(), put.results(2).stored().id()));
  EXPECT_THAT(repeated, UnorderedElementsAre(put.results(1).stored().id()));
}

TEST_F(DedupPipeline, AStoryThatReachesTheNumberOfChannelsIsToldOnce) {
  Serve();
  const std::string title = "언덕 위 천문대 방문객 백만 명 넘어서";
  Put({{"one", title}, {"one", title}, {"two", title}});
  ASSERT_TRUE(AwaitTold(3));
  const auto third = Put({{"three", "(종합) " + title}, {"three", title}, {"four", title}});
  ASSERT_TRUE(AwaitTold(7));
  int reached = 0;
  for (const events::Envelope& envelope : told_) {
    if (!envelope.has_citation_threshold_reached()) continue;
    ++reached;
    EXPECT_EQ(envelope.citation_threshold_reached().channel_count(), 3);
    EXPECT_EQ(envelope.citation_threshold_reached().item_id(), third.results(0).stored().id());
  }
  EXPECT_EQ(reached, 1);
}

TEST_F(DedupPipeline, DocumentsThatAreNoItemsAreNotTold) {
  Serve();
  EXPECT_EQ(Submit(NewDocument("a", "one", "언덕 위 천문대 방문객 백만 명 넘어서")).verdict(),
            v1::VERDICT_UNIQUE);
  Put({{"two", "강변 자전거길 주민 투표로 이름을 정한다"}});
  ASSERT_TRUE(AwaitTold(1));
  EXPECT_EQ(test::QueryNumber(platform_.pool(), "SELECT count(*) FROM dedup.decisions"), 2);
  EXPECT_TRUE(test::Eventually([&] {
    return test::QueryNumber(platform_.pool(), "SELECT count(*) FROM dedup.outbox") == 0;
  }));
  EXPECT_EQ(told_.size(), 1U);
}

TEST_F(DedupPipeline, AnItemThatIsGoneIsDeadLetter) {
  Serve(false);
  const auto put = Put({{"one", "항구 옆 수산시장 새 단장 마치고 문 열어"}});
  test::RunSql(platform_.pool(), "DELETE FROM collector.items");
  ASSERT_TRUE(platform_.transport().Start().ok());
  EXPECT_TRUE(test::Eventually([&] {
    return test::QueryNumber(platform_.pool(), "SELECT count(*) FROM collector.dead_letters") == 1;
  }));
  EXPECT_EQ(test::QueryNumber(platform_.pool(), "SELECT count(*) FROM dedup.decisions"), 0);
}

}  // namespace
}  // namespace winnow::dedup
