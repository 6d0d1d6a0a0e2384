#include "services/platform/postgres/log/log_transaction.h"
#include "tests/integration/newsfeed/fixture.h"

namespace winnow::newsfeed {
namespace {

class Schema : public NewsFeedTest {};

TEST_F(Schema, HasTheLogThatThePlatformAsksFor) {
  Execute("CREATE SCHEMA other; " + pg::LogStreamsDdl("other"));
  EXPECT_EQ(Count("SELECT count(*) FROM (SELECT attname, atttypid, attnotnull, attcollation "
                  "FROM pg_attribute WHERE attrelid = 'newsfeed.log_streams'::regclass "
                  "EXCEPT SELECT attname, atttypid, attnotnull, attcollation FROM pg_attribute "
                  "WHERE attrelid = 'other.log_streams'::regclass) d"),
            0);
  EXPECT_EQ(Count("SELECT count(*) FROM (SELECT attname, atttypid, attnotnull, attcollation "
                  "FROM pg_attribute WHERE attrelid = 'other.log_streams'::regclass "
                  "EXCEPT SELECT attname, atttypid, attnotnull, attcollation FROM pg_attribute "
                  "WHERE attrelid = 'newsfeed.log_streams'::regclass) d"),
            0);
}

// Programs that know the published schema read these.
TEST_F(Schema, HasThePublishedColumnsAndIndexes) {
  Upsert({Make("a"), Make("b")});
  ASSERT_TRUE(Delete("b").ok());
  Execute(
      "SELECT id, url, title, snippet, source, source_name, source_icon_url, thumbnail_url, "
      "video_url, category, keywords, ai_tag, published_at, created_at, updated_at, is_deleted "
      "FROM newsfeed.news_articles WHERE category = 'uncategorized' AND is_deleted = FALSE "
      "AND (published_at, id) < (now(), 'x') ORDER BY published_at DESC, id DESC LIMIT 20");
  EXPECT_EQ(Count("SELECT count(*) FROM pg_indexes WHERE schemaname = 'newsfeed' AND indexname IN "
                  "('idx_news_cursor', 'idx_news_source', 'idx_news_recent')"),
            3);
  EXPECT_EQ(Count("SELECT count(*) FROM pg_constraint WHERE conname = 'uq_news_articles_url'"), 1);
  EXPECT_EQ(Count("SELECT count(*) FROM newsfeed.news_articles WHERE is_deleted = FALSE"), 1);
}

TEST_F(Schema, ComparesKeysByBytesWhateverTheLocale) {
  EXPECT_EQ(Count("SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid "
                  "JOIN pg_namespace n ON n.oid = c.relnamespace "
                  "CROSS JOIN LATERAL unnest(i.indcollation) AS k (collation_oid) "
                  "WHERE n.nspname = 'newsfeed' AND c.relname <> 'schema_migrations' "
                  "AND k.collation_oid NOT IN (0, 'pg_catalog.\"C\"'::regcollation)"),
            0);
}

// Articles are looked up by several keys of a namespace. Of two indexes that begin with it the
// planner may take the wrong one while a table was never analysed, and reads all of it.
TEST_F(Schema, HasOneIndexOfArticlesThatBeginsWithTheNamespace) {
  EXPECT_EQ(
      Count("SELECT count(*) FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid "
            "AND a.attnum = i.indkey[0] WHERE i.indrelid = 'newsfeed.news_articles'::regclass "
            "AND a.attname = 'namespace'"),
      1);
}

TEST_F(Schema, RefusesSortTimesFinerThanAMillisecond) {
  Upsert({Make("a")});
  const Status refused = writes_.Statements(Soon(), [](pg::Session& session) {
    session.ExecuteText(
        "UPDATE newsfeed.news_articles SET published_at = published_at + interval '1 microsecond'");
    return OkStatus();
  });
  EXPECT_FALSE(refused.ok());
}

}  // namespace
}  // namespace winnow::newsfeed
