#include <atomic>
#include <set>
#include <thread>

#include "tests/integration/classification/redis_fixture.h"

namespace winnow::classification {
namespace {

TEST_F(ClassificationRedisTest, WritesThePublishedLayout) {
  Import(Comments(3));
  Activate(ExternalRun(3, v1::COMMENT_STATUS_NORMAL).id());
  Override("c1", v1::COMMENT_STATUS_FILTERED);
  ASSERT_TRUE(projection_.ProjectAll().ok());
  auto verdicts = Verdicts();
  EXPECT_EQ(verdicts["c0"], R"({"status":"normal"})");
  EXPECT_EQ(verdicts["c1"], R"({"status":"filtered","reason":"moderator"})");
  EXPECT_THAT(verdicts["_metadata"], testing::HasSubstr("\"updated_at\""));
  EXPECT_EQ(verdicts.size(), 4u);
  EXPECT_THAT(*Run({"ZREVRANGE", "{video:v:classification}:ix:filtered", "0", "-1"}).Texts(),
              testing::ElementsAre("c1"));
  EXPECT_EQ(*Run({"HGET", "{video:v:classification}:counts", "normal"}).Text(), "2");
  EXPECT_GT(*Run({"PTTL", "video:v:classification"}).Integer(), 1000);
  EXPECT_EQ(*Run({"KEYS", "*next*"}).Texts(), std::vector<std::string>());
}

TEST_F(ClassificationRedisTest, DropsWhatTheNextRunDoesNotHold) {
  Import(Comments(2));
  Activate(ExternalRun(2, v1::COMMENT_STATUS_FILTERED).id());
  ASSERT_TRUE(projection_.ProjectAll().ok());
  EXPECT_EQ(Verdicts().size(), 3u);
  v1::DeleteVideoRequest request;
  request.set_video_id("v");
  Do(&Handlers::DeleteVideo, request);
  projection_.Remove({"default", "v"});
  EXPECT_EQ(*Run({"KEYS", "*video*"}).Texts(), std::vector<std::string>());
}

TEST_F(ClassificationRedisTest, IsRebuiltWhenRedisLostEverything) {
  Import(Comments(2));
  Activate(ExternalRun(2, v1::COMMENT_STATUS_FILTERED).id());
  ASSERT_TRUE(projection_.ProjectAll().ok());
  server_.Kill();
  EXPECT_FALSE(projection_.ProjectAll().ok());
  server_.Start();
  EXPECT_TRUE(test::Eventually([&] { return projection_.ProjectAll().ok(); }));
  EXPECT_TRUE(test::Eventually([&] { return reader_->Check().ok(); }));
  EXPECT_EQ(Verdicts().size(), 3u);
}

TEST_F(ClassificationRedisTest, ReadersOfTheHashNeverSeeAMix) {
  constexpr int kComments = 500;
  Import(Comments(kComments));
  const v1::Run a = ExternalRun(kComments, v1::COMMENT_STATUS_NORMAL);
  const v1::Run b = ExternalRun(kComments, v1::COMMENT_STATUS_FILTERED);
  Activate(a.id());
  ASSERT_TRUE(projection_.ProjectAll().ok());
  std::atomic<bool> stop = false;
  std::atomic<int> swaps = 0;
  std::thread swapper([&] {
    for (int i = 0; !stop; ++i) {
      Activate(i % 2 == 0 ? b.id() : a.id());
      EXPECT_TRUE(projection_.ProjectAll().ok());
      ++swaps;
    }
  });
  int rounds = 0;
  while ((rounds++ < 100 || swaps < 4) && !HasFailure()) {
    auto verdicts = Verdicts();
    ASSERT_EQ(verdicts.size(), kComments + 1u);
    verdicts.erase("_metadata");
    std::set<std::string> values;
    for (const auto& [id, value] : verdicts) values.insert(value);
    EXPECT_EQ(values.size(), 1u) << "a mix";
  }
  stop = true;
  swapper.join();
}

TEST_F(ClassificationRedisTest, AnOlderRevisionNeverReplacesANewerOne) {
  Import(Comments(1));
  Activate(ExternalRun(1, v1::COMMENT_STATUS_NORMAL).id());
  ASSERT_TRUE(projection_.ProjectAll().ok());
  Run({"HSET", "{video:v:classification}:counts", "revision", "1000"});
  Override("c0", v1::COMMENT_STATUS_FILTERED);
  ASSERT_TRUE(projection_.ProjectAll().ok());
  EXPECT_EQ(Verdicts()["c0"], R"({"status":"normal"})");
}

TEST_F(ClassificationRedisTest, ReadsRawCommentsByKeyAndNeverWritesIt) {
  Run({"SET", "youtube:video:v:comments", Comments(4)});
  const auto raw = projection_.Read(Soon(), "youtube:video:v:comments");
  ASSERT_TRUE(raw.ok()) << raw.status();
  EXPECT_EQ(Import(*raw).created_count(), 4);
  EXPECT_EQ(projection_.Read(Soon(), "nothing").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace winnow::classification
