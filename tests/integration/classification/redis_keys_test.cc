#include "tests/integration/classification/redis_fixture.h"

// A Redis that other programs use too, and keys that Redis lost.
namespace winnow::classification {
namespace {

using test::ChangedKeys;
using test::ReadAll;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kHash = "video:v:classification";

class ProjectionKeysTest : public ClassificationRedisTest {
 protected:
  explicit ProjectionKeysTest(test::RedisMode mode = test::RedisMode::kPlain)
      : ClassificationRedisTest(mode) {}

  void ActivateAll(int count, v1::CommentStatus status = v1::COMMENT_STATUS_FILTERED) {
    Import(Comments(count));
    Activate(ExternalRun(count, status).id());
  }
  void Project() {
    ASSERT_TRUE(projection_.ProjectAll().ok());
    ASSERT_TRUE(projection_.Audit().ok());
  }
};

TEST_F(ProjectionKeysTest, VerdictsOfAnotherProgramStayByteForByte) {
  test::PutPublishedKeys(*reader_);
  const auto before = ReadAll(*reader_);
  ActivateAll(2);
  for (int i = 0; i < 3; ++i) Project();
  Override("c1", v1::COMMENT_STATUS_NORMAL);
  Project();
  EXPECT_THAT(ChangedKeys(before, ReadAll(*reader_)), IsEmpty());
  EXPECT_THAT(*Run({"KEYS", "*next*"}).Texts(), IsEmpty()) << "nothing is staged";
  EXPECT_THAT(metrics_.Render(),
              HasSubstr("winnow_redis_foreign_keys{projection=\"classification\"} 1"));
  EXPECT_THAT(Message(projection_.CheckKeys()), HasSubstr(kHash));
  EXPECT_THAT(Message(projection_.CheckKeys()), HasSubstr("--adopt-redis-keys"));

  v1::DeleteVideoRequest request;
  request.set_video_id("v");
  Do(&Handlers::DeleteVideo, request);
  projection_.Remove({"default", "v"});
  EXPECT_THAT(ChangedKeys(before, ReadAll(*reader_)), IsEmpty()) << "not ours to delete";
  Project();
  EXPECT_TRUE(projection_.CheckKeys().ok());
}

TEST_F(ProjectionKeysTest, AHashThatTheOtherProgramDeletedIsTaken) {
  test::PutPublishedKeys(*reader_);
  ActivateAll(2);
  Project();
  EXPECT_THAT(Verdicts(), SizeIs(2));
  Run({"DEL", kHash});
  Project();
  EXPECT_THAT(Verdicts(), SizeIs(3));
  EXPECT_TRUE(projection_.CheckKeys().ok());
}

TEST_F(ProjectionKeysTest, AreTakenOverWhenAnOperatorAdoptsThem) {
  test::PutPublishedKeys(*reader_);
  ActivateAll(3);
  Project();
  ProjectionWorker adopter(stores_.projections, stores_.verdicts, *client_, clock_,
                           {.poll = std::chrono::milliseconds(5), .adopt = true}, metrics_);
  adopter.Start();
  EXPECT_TRUE(test::Eventually([&] { return Verdicts().size() == 4; }));
  adopter.Stop();
  Project();
  EXPECT_TRUE(projection_.CheckKeys().ok()) << "for every process, from then on";
}

TEST_F(ProjectionKeysTest, OfTheBuildBeforeAreRecognised) {
  ActivateAll(2);
  Project();
  Run({"DEL", "{video:v:classification}:owner"});
  Override("c1", v1::COMMENT_STATUS_NORMAL);
  Project();
  EXPECT_TRUE(projection_.CheckKeys().ok()) << projection_.CheckKeys();
  EXPECT_THAT(Verdicts()["c1"], HasSubstr("normal"));
  EXPECT_GT(*Run({"PTTL", "{video:v:classification}:owner"}).Integer(),
            *Run({"PTTL", kHash}).Integer());
}

TEST_F(ProjectionKeysTest, WhatIsDeletedOrDamagedIsWrittenAgain) {
  ActivateAll(3);
  Project();
  for (const std::string key :
       {kHash, "{video:v:classification}:ix:filtered", "{video:v:classification}:counts"}) {
    Run({"DEL", key});
    Project();
    EXPECT_EQ(*Run({"EXISTS", key}).Integer(), 1) << key;
  }
  Run({"HDEL", kHash, "c1"});
  Project();
  EXPECT_THAT(Verdicts(), SizeIs(4));
  EXPECT_THAT(metrics_.Render(), HasSubstr("winnow_classification_projection_lost_total 4"));
}

class ClusterProjectionTest : public ProjectionKeysTest {
 protected:
  ClusterProjectionTest() : ProjectionKeysTest(test::RedisMode::kCluster) {}
};

TEST_F(ClusterProjectionTest, WorksWhereKeysOfAScriptShareASlot) {
  ActivateAll(2);
  Project();
  EXPECT_THAT(Verdicts(), SizeIs(3));
  Run({"DEL", kHash});
  Project();
  EXPECT_THAT(Verdicts(), SizeIs(3));
  projection_.Remove({"default", "v"});
  EXPECT_THAT(*Run({"KEYS", "*video*"}).Texts(), IsEmpty());
}

}  // namespace
}  // namespace winnow::classification
