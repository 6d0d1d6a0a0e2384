#include "tests/integration/polling/view_fixture.h"

// A Redis that other programs use too, and keys that Redis lost.
namespace winnow::polling {
namespace {

using test::ChangedKeys;
using test::ReadAll;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PollingViewKeysTest : public PollingViewTest {
 protected:
  explicit PollingViewKeysTest(test::RedisMode mode = test::RedisMode::kPlain)
      : PollingViewTest(mode) {}

  Status LookAndRepair() {
    WINNOW_RETURN_IF_ERROR(Look());
    return view_.Repair().status();
  }
  // As a build without records of ownership left it.
  void DropRecords() {
    Run({"DEL", "{stt:polling:processing}:owner", "{stt:polling:summarizing}:owner"});
    Run({"DEL", "winnow:polling:records"});
  }
};

TEST_F(PollingViewKeysTest, JobsInFlightOfAnotherProgramStayByteForByte) {
  test::PutPublishedKeys(*reader_);
  const auto before = ReadAll(*reader_);
  RegisterMany(3);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(LookAndRepair().ok());
  MoveOn(Claim("w")[0]);
  ASSERT_TRUE(LookAndRepair().ok());
  EXPECT_THAT(ChangedKeys(before, ReadAll(*reader_)), IsEmpty());
  EXPECT_THAT(metrics_.Render(), HasSubstr("winnow_redis_foreign_keys{projection=\"polling\"} 2"));
  EXPECT_THAT(Message(view_.CheckKeys()), HasSubstr(kProcessing));
  EXPECT_THAT(Message(view_.CheckKeys()), HasSubstr("--adopt-redis-keys"));
  EXPECT_THAT(Message(view_.CheckKeys()), HasSubstr("winnow jobs import-redis"));
}

TEST_F(PollingViewKeysTest, AKeyThatTheOtherProgramEmptiedForAMomentIsNotTaken) {
  test::PutPublishedKeys(*reader_);
  RegisterMany(3);
  ASSERT_TRUE(Look().ok());
  Run({"DEL", kProcessing});
  ASSERT_TRUE(LookAndRepair().ok());
  EXPECT_EQ(Count(kProcessing), 0);
  Run({"ZADD", kProcessing, "7", "104"});
  ASSERT_TRUE(LookAndRepair().ok());
  EXPECT_THAT(Shown(kProcessing), ElementsAre(std::pair("104", "7")));
}

TEST_F(PollingViewKeysTest, OneForeignKeyStopsItsKindOnly) {
  Run({"SADD", kSummarizing, "of the design before sorted sets"});
  const auto before = ReadAll(*reader_);
  RegisterMany(2);
  ASSERT_TRUE(LookAndRepair().ok());
  EXPECT_THAT(ChangedKeys(before, ReadAll(*reader_)), IsEmpty());
  EXPECT_EQ(Count(kProcessing), 0);
}

TEST_F(PollingViewKeysTest, AreTakenOverWhenAnOperatorAdoptsThem) {
  test::PutPublishedKeys(*reader_);
  Run({"DEL", kSummarizing});
  Run({"SADD", kSummarizing, "of another type"});
  RegisterMany(3);
  ASSERT_TRUE(Look().ok());
  MoveOn(Claim("w")[0]);
  ASSERT_TRUE(Look().ok());
  EXPECT_FALSE(view_.CheckKeys().ok());
  ViewWorker adopter(store_, *client_, metrics_, {.adopt = true});
  ASSERT_TRUE(adopter.Look().ok());
  EXPECT_TRUE(adopter.CheckKeys().ok());
  EXPECT_EQ(Count(kProcessing), 2) << "101 and 102 are not in the store";
  EXPECT_EQ(Count(kSummarizing), 1);
  ASSERT_TRUE(Look().ok());
  EXPECT_TRUE(view_.CheckKeys().ok()) << "for every process, from then on";
  EXPECT_EQ(*view_.Repair(), 0);
}

TEST_F(PollingViewKeysTest, OfTheBuildBeforeAreRecognised) {
  RegisterMany(3);
  ASSERT_TRUE(Look().ok());
  DropRecords();
  Register("x");
  ASSERT_TRUE(LookAndRepair().ok());
  EXPECT_TRUE(view_.CheckKeys().ok()) << view_.CheckKeys();
  EXPECT_EQ(Count(kProcessing), 4);
}

TEST_F(PollingViewKeysTest, WhatAnotherProgramWroteSinceTheBuildBeforeRanIsNotOurs) {
  RegisterMany(3);
  ASSERT_TRUE(Look().ok());
  DropRecords();
  Run({"ZADD", kProcessing, "7", "104"});
  const auto before = ReadAll(*reader_);
  ASSERT_TRUE(LookAndRepair().ok());
  EXPECT_EQ(before.at(kProcessing), ReadAll(*reader_).at(kProcessing));
  EXPECT_FALSE(view_.CheckKeys().ok());
}

TEST_F(PollingViewKeysTest, ADeletedKeyIsWrittenAgainWithTheNextLook) {
  RegisterMany(3);
  ASSERT_TRUE(Look().ok());
  Run({"DEL", kProcessing});
  ASSERT_TRUE(Look().ok());
  EXPECT_EQ(Count(kProcessing), 3);
}

class ClusterPollingViewTest : public PollingViewKeysTest {
 protected:
  ClusterPollingViewTest() : PollingViewKeysTest(test::RedisMode::kCluster) {}
};

TEST_F(ClusterPollingViewTest, WorksWhereKeysOfAScriptShareASlot) {
  RegisterMany(3);
  ASSERT_TRUE(LookAndRepair().ok());
  MoveOn(Claim("w")[0]);
  ASSERT_TRUE(LookAndRepair().ok());
  EXPECT_EQ(Count(kProcessing), 2);
  EXPECT_EQ(Count(kSummarizing), 1);
  Run({"DEL", "{stt:polling:processing}:owner"});
  ASSERT_TRUE(LookAndRepair().ok());
  EXPECT_FALSE(view_.CheckKeys().ok());
  ViewWorker adopter(store_, *client_, metrics_, {.adopt = true});
  ASSERT_TRUE(adopter.Look().ok());
  EXPECT_TRUE(adopter.CheckKeys().ok());
}

}  // namespace
}  // namespace winnow::polling
