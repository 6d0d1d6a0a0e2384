#include "services/newsfeed/projection/projection_client.h"
#include "tests/integration/newsfeed/redis_fixture.h"
#include "tests/support/sync/eventually.h"

// A Redis that other programs use too, and keys that Redis lost.
namespace winnow::newsfeed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::ChangedKeys;
using test::ReadAll;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The swap of the build before ownership was recorded.
constexpr const char* kOldSwap = R"(
redis.call('DEL', KEYS[2])
for i = 7, #ARGV, 2 do redis.call('ZADD', KEYS[2], ARGV[i], ARGV[i + 1]) end
redis.call('RENAME', KEYS[2], KEYS[1])
redis.call('EXPIRE', KEYS[1], ARGV[6])
redis.call('DEL', KEYS[3])
redis.call('HSET', KEYS[3], 'fence', ARGV[1], 'position', ARGV[2], 'epoch', ARGV[3],
  'whole', ARGV[4], 'entries', ARGV[5])
redis.call('EXPIRE', KEYS[3], ARGV[6])
return 1)";

class ProjectionKeysTest : public NewsFeedRedisTest {
 protected:
  explicit ProjectionKeysTest(test::RedisMode mode = test::RedisMode::kPlain)
      : NewsFeedRedisTest(mode) {}

  std::vector<std::string> Ids(const std::string& feed) { return FeedIn("news:feed:" + feed); }
  bool Exists(const std::string& key) { return *Ask({"EXISTS", key}).Integer() == 1; }

  // Everything is checked with each look.
  Metrics audit_metrics_;
  ProjectionWorker auditor_{feeds_,        categories_, projections_,
                            redis_,        clock_,      {.audit = milliseconds(0)},
                            audit_metrics_};
  void Audit() {
    ReleaseLease();
    const Status looked = auditor_.Look();
    EXPECT_TRUE(looked.ok()) << looked;
  }
  void ReleaseLease() { Execute("UPDATE newsfeed.projector_lease SET expire_time = '-infinity'"); }
};

TEST_F(ProjectionKeysTest, OfOtherProgramsStayByteForByte) {
  Create("ai");
  Create("environment");
  test::PutPublishedKeys(reader_);
  const auto before = ReadAll(reader_);
  Upsert({Make("a", {}, {"ai"}), Make("b", seconds(1)), Make("c", seconds(2), {"environment"})});
  for (int i = 0; i < 3; ++i) Project();
  ASSERT_TRUE(Delete("a").ok());
  Project();
  EXPECT_THAT(ChangedKeys(before, ReadAll(reader_)), IsEmpty());
  EXPECT_THAT(Ids("all"), ElementsAre("b", "c")) << "other feeds go on";
  EXPECT_FALSE(Exists("news:feed:environment")) << "its lock is held";
  EXPECT_THAT(metrics_.Render(), HasSubstr("winnow_redis_foreign_keys{projection=\"newsfeed\"} 2"));
  EXPECT_THAT(Message(projector_.CheckKeys()), HasSubstr("news:feed:ai and 1 more"));
  EXPECT_THAT(Message(projector_.CheckKeys()), HasSubstr("--adopt-redis-keys"));

  Ask({"DEL", "news:lock:environment"});
  Project();
  EXPECT_THAT(Ids("environment"), ElementsAre("c"));
  Ask({"DEL", "news:feed:ai", "news:meta:ai"});
  Upsert({Make("d", {}, {"ai"})});
  Project();
  EXPECT_THAT(Ids("ai"), ElementsAre("d")) << "what is free is taken";
  EXPECT_TRUE(projector_.CheckKeys().ok());
}

TEST_F(ProjectionKeysTest, AnArticleOfAnotherProgramStopsTheFeedsThatShowIt) {
  Create("ai");
  test::PutPublishedKeys(reader_);
  Ask({"DEL", "news:feed:ai", "news:meta:ai", "news:lock:environment"});
  const auto before = ReadAll(reader_);
  Upsert({Make("naver_1", {}, {"ai"}), Make("b")});
  Project();
  EXPECT_THAT(ChangedKeys(before, ReadAll(reader_)), IsEmpty());
  EXPECT_FALSE(Exists("news:feed:ai"));
  EXPECT_THAT(Ids("uncategorized"), ElementsAre("b"));
  ASSERT_TRUE(Delete("naver_1").ok());
  Project();
  EXPECT_THAT(ChangedKeys(before, ReadAll(reader_)), IsEmpty()) << "not ours to delete";
}

TEST_F(ProjectionKeysTest, AreTakenOverWhenAnOperatorAdoptsThem) {
  Create("ai");
  test::PutPublishedKeys(reader_);
  Ask({"DEL", "news:lock:environment"});
  const auto before = ReadAll(reader_);
  Upsert({Make("naver_1", {}, {"ai"})});
  Project();
  EXPECT_FALSE(projector_.CheckKeys().ok());
  ReleaseLease();
  ProjectionWorker adopter(feeds_, categories_, projections_, redis_, clock_, {.adopt = true},
                           metrics_);
  ASSERT_TRUE(adopter.Look().ok());
  EXPECT_TRUE(adopter.CheckKeys().ok());
  EXPECT_THAT(Ids("ai"), ElementsAre("naver_1"));
  EXPECT_EQ(*Ask({"HGET", "news:article:naver_1", "title"}).Text(), "Title of naver_1");
  EXPECT_EQ(*Ask({"HGET", "news:meta:ai", "article_count"}).Text(), "1");
  EXPECT_THAT(ChangedKeys(before, ReadAll(reader_)),
              ElementsAre("news:article:naver_1", "news:feed:ai", "news:meta:ai"));
  ReleaseLease();
  Project();
  EXPECT_TRUE(projector_.CheckKeys().ok()) << "for every process, from then on";
}

TEST_F(ProjectionKeysTest, OfTheBuildBeforeAreRecognised) {
  Upsert({Make("a")});
  Project();
  auto state = *Ask({"HGETALL", "{news:feed:all}:state"}).Pairs();
  std::map<std::string, std::string> fields(state.begin(), state.end());
  redis::Command article = {"HSET", "news:article:a"};
  const auto content = *Ask({"HGETALL", "news:article:a"}).Pairs();
  for (const auto& [field, value] : content) {
    article.insert(article.end(), {field, value});
  }
  const std::string ms = *Ask({"ZSCORE", "news:feed:all", "a"}).Text();
  Ask({"FLUSHALL"});
  Ask(article);
  Ask({"EXPIRE", "news:article:a", "86400"});
  Ask({"EVAL", kOldSwap, "3", "news:feed:all", "{news:feed:all}:next", "{news:feed:all}:state",
       fields["fence"], fields["position"], fields["epoch"], fields["whole"], fields["entries"],
       "3600", ms, "a"});
  Ask({"HSET", "news:meta:all", "last_refresh", "now", "article_count", "1", "is_stale", "false",
       "revision", fields["position"]});
  Ask({"EXPIRE", "news:meta:all", "3600"});
  Upsert({Make("b", seconds(-1))});
  Project();
  EXPECT_TRUE(projector_.CheckKeys().ok()) << projector_.CheckKeys();
  EXPECT_THAT(Ids("all"), ElementsAre("b", "a"));
  EXPECT_EQ(*Ask({"HGET", "news:meta:all", "article_count"}).Text(), "2");
  EXPECT_TRUE(Exists("{news:feed:all}:owner"));
  EXPECT_TRUE(Exists("{news:article:a}:owner"));
}

TEST_F(ProjectionKeysTest, OfTheBuildBeforeThatRanOnceMoreAreRecognised) {
  Upsert({Make("a")});
  Project();
  for (const std::string key :
       {"news:feed:all", "{news:feed:all}:state", "news:meta:all", "news:article:a"}) {
    Ask({"EXPIRE", key, "90000"});  // it wrote them later, and no record of that
  }
  Upsert({Make("b", seconds(-1))});
  Project();
  EXPECT_TRUE(projector_.CheckKeys().ok()) << projector_.CheckKeys();
  EXPECT_THAT(Ids("all"), ElementsAre("b", "a"));
}

TEST_F(ProjectionKeysTest, RecordsOutliveTheirKeysAndMayBeLost) {
  Upsert({Make("a")});
  Project();
  for (const std::string key : {"news:feed:all", "news:meta:all", "news:article:a"}) {
    EXPECT_GT(*Ask({"PTTL", "{" + key + "}:owner"}).Integer(), *Ask({"PTTL", key}).Integer());
    Ask({"DEL", "{" + key + "}:owner"});
  }
  Upsert({Make("b", seconds(-1))});
  Project();
  EXPECT_TRUE(projector_.CheckKeys().ok()) << projector_.CheckKeys();
  EXPECT_THAT(Ids("all"), ElementsAre("b", "a"));
}

TEST_F(ProjectionKeysTest, OneThatAnotherProgramMadeAfterOursWasGoneIsNotOurs) {
  Upsert({Make("a")});
  Project();
  Ask({"DEL", "news:feed:all"});
  Ask({"ZADD", "news:feed:all", "5", "theirs"});
  const auto made = ReadAll(reader_);
  Upsert({Make("b", seconds(-1))});
  Project();
  EXPECT_THAT(Ids("all"), ElementsAre("theirs"));
  EXPECT_EQ(made.at("news:feed:all"), ReadAll(reader_).at("news:feed:all"));
  EXPECT_FALSE(projector_.CheckKeys().ok());
}

TEST_F(ProjectionKeysTest, ADeletedFeedOrArticleIsWrittenAgain) {
  Create("ai");
  Upsert({Make("a", {}, {"ai"}), Make("b", seconds(1))});
  Audit();
  for (const std::string key : {"news:feed:ai", "news:meta:ai", "news:article:a",
                                "{news:feed:ai}:state", "news:article:b"}) {
    Ask({"DEL", key});
    auditor_.Look().IgnoreError();
    EXPECT_TRUE(Exists(key)) << key;
  }
  Ask({"ZREM", "news:feed:ai", "a"});
  Ask({"ZADD", "news:feed:all", "1", "stray"});
  auditor_.Look().IgnoreError();
  EXPECT_THAT(Ids("ai"), ElementsAre("a"));
  EXPECT_THAT(Ids("all"), ElementsAre("a", "b"));
  EXPECT_THAT(audit_metrics_.Render(), HasSubstr("winnow_newsfeed_projection_lost_total 7"));
}

TEST_F(ProjectionKeysTest, TheAuditComesToEveryArticleInSlices) {
  std::vector<v1::Article> articles;
  for (int i = 0; i < 200; ++i) articles.push_back(Make("n" + std::to_string(i), seconds(i)));
  Upsert(articles);
  ProjectionWorker slow(feeds_, categories_, projections_, redis_, clock_, {.audit = seconds(10)},
                        metrics_);
  ASSERT_TRUE(slow.Look().ok());
  Ask({"DEL", "news:article:n7", "news:article:n150"});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(slow.Look().ok());  // 100 with each
  EXPECT_TRUE(Exists("news:article:n7"));
  EXPECT_TRUE(Exists("news:article:n150"));
}

TEST_F(ProjectionKeysTest, ADeletedArticleLeavesWithTheNextLook) {
  std::vector<v1::Article> articles;
  for (int i = 0; i < 201; ++i) articles.push_back(Make("n" + std::to_string(i), seconds(300 - i)));
  Upsert({articles.begin(), articles.begin() + 200});
  Project();
  Upsert({articles.back()});
  Project();
  ASSERT_THAT(Ids("all"), Not(::testing::Contains("n0"))) << "newer ones displaced it";
  EXPECT_TRUE(Exists("news:article:n0")) << "readers may still hold its id";
  ASSERT_TRUE(Delete("n0").ok());
  ASSERT_TRUE(Delete("n9").ok());
  Project();
  EXPECT_FALSE(Exists("news:article:n0"));
  EXPECT_FALSE(Exists("news:article:n9"));
  EXPECT_FALSE(Exists("{news:article:n9}:owner"));
  EXPECT_THAT(Ids("all"), Not(::testing::Contains("n9")));
  EXPECT_TRUE(Exists("news:article:n10"));
}

TEST_F(ProjectionKeysTest, ADeletionThatNoProcessFollowedIsCaughtUpWith) {
  Upsert({Make("a"), Make("b", seconds(1))});
  Project();
  ASSERT_TRUE(Delete("a").ok());
  ReleaseLease();
  ProjectionWorker next(feeds_, categories_, projections_, redis_, clock_, {}, metrics_);
  ASSERT_TRUE(next.Look().ok());
  EXPECT_FALSE(Exists("news:article:a"));
  EXPECT_THAT(Ids("all"), ElementsAre("b"));
}

class ClusterProjectionTest : public ProjectionKeysTest {
 protected:
  ClusterProjectionTest() : ProjectionKeysTest(test::RedisMode::kCluster) {}
};

TEST_F(ClusterProjectionTest, WorksWhereKeysOfAScriptShareASlot) {
  Create("ai");
  test::PutPublishedKeys(reader_);
  Ask({"DEL", "news:lock:environment"});
  const auto before = ReadAll(reader_);
  Upsert({Make("a", {}, {"ai"}), Make("b", seconds(1))});
  Audit();
  EXPECT_THAT(ChangedKeys(before, ReadAll(reader_)), IsEmpty());
  EXPECT_THAT(Ids("all"), ElementsAre("a", "b"));
  Ask({"DEL", "news:feed:all"});
  ASSERT_TRUE(Delete("b").ok());
  Audit();
  EXPECT_THAT(Ids("all"), ElementsAre("a"));
  EXPECT_FALSE(Exists("news:article:b"));
  ReleaseLease();
  ProjectionWorker adopter(feeds_, categories_, projections_, redis_, clock_, {.adopt = true},
                           metrics_);
  ASSERT_TRUE(adopter.Look().ok());
  EXPECT_THAT(Ids("ai"), ElementsAre("a"));
}

}  // namespace
}  // namespace winnow::newsfeed
