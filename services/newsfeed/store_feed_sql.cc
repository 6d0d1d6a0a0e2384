#include "services/newsfeed/store_feed_sql.h"

#include <string>

#include "services/newsfeed/store_rows.h"

namespace winnow::newsfeed {
namespace {

// Parameters stand in sub-selects: then the planner cannot prefer a plan of its own for each value,
// which would cost more than the page.
constexpr char kBelow[] =
    "(e.publish_time, e.id) < ((SELECT $2::timestamptz), (SELECT $3::text)) "
    "AND e.publish_time >= (SELECT $4::timestamptz) ";

constexpr char kFilters[] =
    "($8::text[] IS NULL OR e.source = ANY ($8)) AND "
    "($9::text[] IS NULL OR e.language = ANY ($9)) AND "
    "($10::boolean IS NULL OR e.has_image = $10) ";

constexpr char kNewestFirst[] = "ORDER BY publish_time DESC, id DESC ";

// Rows of one index from the key downwards; `also` narrows it to one source or language.
std::string Scan(const std::string& also) {
  return "SELECT e.publish_time, e.id, e.seq, e.article_number, e.source, e.language, e.has_image "
         "FROM newsfeed.feed_entries e WHERE e.feed = (SELECT $1::text) " +
         also + "AND " + kBelow + kNewestFirst;
}

// Hits among the first $5 rows of a scan; and where that ended, when there were too few.
std::string HitsAndMarker(const std::string& also) {
  return "WITH hits AS MATERIALIZED (SELECT e.publish_time, e.id, e.article_number FROM (" +
         Scan(also) +
         "LIMIT (SELECT $5::bigint)) e WHERE e.seq > (SELECT $6::bigint) AND "
         "e.seq <= (SELECT $7::bigint) AND " +
         kFilters + kNewestFirst +
         "LIMIT (SELECT $11::bigint)) "
         "SELECT h.publish_time, h.id, h.article_number, TRUE AS hit FROM hits h UNION ALL "
         "(SELECT e.publish_time, e.id, e.article_number, FALSE FROM newsfeed.feed_entries e "
         "WHERE (SELECT count(*) FROM hits) < (SELECT $11::bigint) "
         "AND e.feed = (SELECT $1::text) " +
         also + "AND " + kBelow + kNewestFirst + "OFFSET (SELECT $5::bigint - 1) LIMIT 1)";
}

std::string Page(const std::string& with, const std::string& overflow) {
  return with +
         "SELECT s.head, s.epoch, s.changed_at, s.created_at, s.overflow, p.hit, "
         "CASE WHEN NOT p.hit THEN p.publish_time END, CASE WHEN NOT p.hit THEN p.id END, " +
         kPageColumns +
         " FROM (SELECT "
         "(SELECT l.head FROM newsfeed.log_streams l WHERE l.stream = 'feeds') AS head, "
         "(SELECT l.epoch FROM newsfeed.log_streams l WHERE l.stream = 'feeds') AS epoch, "
         "(SELECT f.changed_at FROM newsfeed.feed_state f WHERE f.namespace = $12) AS changed_at, "
         "(SELECT f.created_at FROM newsfeed.feed_state f WHERE f.namespace = $12) AS "
         "created_at, " +
         overflow + " AS overflow) s LEFT JOIN page p ON TRUE LEFT JOIN LATERAL (SELECT " +
         kPageColumns +
         " FROM newsfeed.news_articles a WHERE a.number = p.article_number AND p.hit OFFSET 0) a "
         "ON TRUE";
}

// A page merged of one scan for each value of `values`.
std::string Merged(const std::string& column, const std::string& values) {
  const std::string scan = HitsAndMarker("AND e." + column + " = v.value ");
  return Page(
      "WITH page AS (SELECT b.publish_time, b.id, b.article_number, b.hit FROM unnest("
      "(SELECT " +
          values + "::text[])) AS v (value) CROSS JOIN LATERAL (" + scan +
          ") b ORDER BY b.publish_time DESC, b.id DESC, b.hit DESC "
          "LIMIT (SELECT $11::bigint)) ",
      "FALSE");
}

std::string Newer() {
  return Page(
      "WITH fresh AS MATERIALIZED (SELECT e.publish_time, e.id, e.article_number, e.source, "
      "e.language, e.has_image FROM newsfeed.feed_entries e WHERE e.feed = (SELECT $1::text) "
      "AND e.seq > (SELECT $6::bigint) AND e.seq <= (SELECT $7::bigint) "
      "ORDER BY e.seq LIMIT (SELECT $5::bigint + 1)), "
      "size AS MATERIALIZED (SELECT count(*) > (SELECT $5::bigint) AS overflow FROM fresh), "
      "page AS (SELECT e.publish_time, e.id, e.article_number, TRUE AS hit FROM fresh e "
      "WHERE NOT (SELECT overflow FROM size) AND " +
          std::string(kBelow) + "AND " + kFilters + kNewestFirst + "LIMIT (SELECT $11::bigint)) ",
      "(SELECT overflow FROM size)");
}

// Keeps its text alive for the process.
pg::Statement Keep(const char* name, const std::string& sql) { return {name, sql.c_str()}; }

}  // namespace

const pg::Statement& PageByKey() {
  static const std::string sql = Page("WITH page AS (" + HitsAndMarker("") + ") ", "FALSE");
  static const pg::Statement statement = Keep("newsfeed.page_by_key", sql);
  return statement;
}

const pg::Statement& PageBySource() {
  static const std::string sql = Merged("source", "$8");
  static const pg::Statement statement = Keep("newsfeed.page_by_source", sql);
  return statement;
}

const pg::Statement& PageByLanguage() {
  static const std::string sql = Merged("language", "$9");
  static const pg::Statement statement = Keep("newsfeed.page_by_language", sql);
  return statement;
}

const pg::Statement& PageBySeq() {
  static const std::string sql = Newer();
  static const pg::Statement statement = Keep("newsfeed.page_by_seq", sql);
  return statement;
}

}  // namespace winnow::newsfeed
