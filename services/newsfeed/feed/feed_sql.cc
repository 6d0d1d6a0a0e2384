#include "services/newsfeed/feed/feed_sql.h"

#include <string>

#include "services/newsfeed/articles/article_sql.h"

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
    "($10::boolean IS NULL OR e.has_image = $10) AND "
    "($13::tsquery IS NULL OR e.terms @@ $13) ";

constexpr char kNewestFirst[] = "ORDER BY publish_time DESC, id DESC ";

// Rows of one index from the key downwards; `also` narrows it to one source or language.
std::string Scan(const std::string& also) {
  return "SELECT e.publish_time, e.id, e.seq, e.article_number, e.source, e.language, e.has_image, "
         "e.terms FROM newsfeed.feed_entries e WHERE e.feed = (SELECT $1::text) " +
         also + "AND " + kBelow + kNewestFirst;
}

// Hits among the first $5 rows of a scan; and where that ended, when there were too few.
std::string HitsAndMarker(const std::string& also) {
  return "WITH hits AS MATERIALIZED (SELECT e.publish_time, e.id, e.article_number, e.seq FROM (" +
         Scan(also) +
         "LIMIT (SELECT $5::bigint)) e WHERE e.seq > (SELECT $6::bigint) AND "
         "e.seq <= (SELECT $7::bigint) AND " +
         kFilters + kNewestFirst +
         "LIMIT (SELECT $11::bigint)) "
         "SELECT 1 AS kind, h.publish_time, h.id, h.article_number, h.seq FROM hits h UNION ALL "
         "(SELECT 2, e.publish_time, e.id, e.article_number, e.seq FROM newsfeed.feed_entries e "
         "WHERE (SELECT count(*) FROM hits) < (SELECT $11::bigint) "
         "AND e.feed = (SELECT $1::text) " +
         also + "AND " + kBelow + kNewestFirst + "OFFSET (SELECT $5::bigint - 1) LIMIT 1)";
}

// `with` makes `page (kind, publish_time, id, article_number, seq)`; the state is a row beside it,
// so that it travels once.
std::string Page(const std::string& with, const std::string& overflow) {
  const std::string log = "FROM newsfeed.log_streams l WHERE l.stream = 'feeds'";
  const std::string state = "FROM newsfeed.feed_state f WHERE f.namespace = $12";
  return with + "SELECT p.kind, CASE p.kind WHEN 0 THEN (SELECT l.head " + log +
         ") END, CASE p.kind WHEN 0 THEN (SELECT f.changed_at " + state +
         ") END, CASE p.kind WHEN 0 THEN (SELECT f.created_at " + state +
         ") END, CASE p.kind WHEN 0 THEN (SELECT f.tree_revision " + state +
         ") END, CASE p.kind WHEN 0 THEN " + overflow + " END, p.seq, p.publish_time, p.id, " +
         kContentColumns +
         " FROM (SELECT 0 AS kind, NULL::timestamptz AS publish_time, NULL::text AS id, "
         "NULL::bigint AS article_number, NULL::bigint AS seq UNION ALL "
         "SELECT page.kind, page.publish_time, page.id, page.article_number, page.seq "
         "FROM page) p "
         "LEFT JOIN LATERAL (SELECT " +
         kContentColumns +
         " FROM newsfeed.news_articles a WHERE a.number = p.article_number AND p.kind = 1 "
         "OFFSET 0) a ON TRUE";
}

// A page merged of one scan for each value of `values`.
std::string Merged(const std::string& column, const std::string& values) {
  const std::string scan = HitsAndMarker("AND e." + column + " = v.value ");
  return Page(
      "WITH page AS (SELECT b.kind, b.publish_time, b.id, b.article_number, b.seq FROM unnest("
      "(SELECT " +
          values + "::text[])) AS v (value) CROSS JOIN LATERAL (" + scan +
          ") b ORDER BY b.publish_time DESC, b.id DESC, b.kind LIMIT (SELECT $11::bigint)) ",
      "FALSE");
}

// Articles of one keyword after the other, newest first: those whose bits fit are looked up in the
// feed. One that passes several alternatives is one hit.
std::string ByKeyword() {
  const std::string scan =
      "FROM newsfeed.article_keywords k WHERE k.namespace = (SELECT $12::text) "
      "AND k.keyword = v.keyword "
      "AND (k.published_at, k.id) < ((SELECT $2::timestamptz), (SELECT $3::text)) "
      "AND k.published_at >= (SELECT $4::timestamptz) "
      "ORDER BY k.published_at DESC, k.id DESC ";
  const std::string hits =
      "WITH hits AS MATERIALIZED (SELECT k.published_at AS publish_time, k.id, e.article_number, "
      "e.seq FROM (SELECT k.published_at, k.id, k.signature " +
      scan +
      "LIMIT (SELECT $5::bigint)) k CROSS JOIN LATERAL (SELECT e.seq, e.article_number, e.source, "
      "e.language, e.has_image, e.terms FROM newsfeed.feed_entries e "
      "WHERE e.feed = (SELECT $1::text) AND e.publish_time = k.published_at AND e.id = k.id "
      "OFFSET 0) e WHERE (k.signature & v.mask) = v.mask AND e.seq > (SELECT $6::bigint) "
      "AND e.seq <= (SELECT $7::bigint) AND " +
      kFilters +
      "ORDER BY k.published_at DESC, k.id DESC LIMIT (SELECT $11::bigint)) "
      "SELECT 1 AS kind, h.publish_time, h.id, h.article_number, h.seq FROM hits h UNION ALL "
      "(SELECT 2, k.published_at, k.id, NULL, NULL ";
  const std::string marker =
      "OFFSET (SELECT $5::bigint - 1) LIMIT (SELECT CASE WHEN (SELECT count(*) FROM hits) < "
      "(SELECT $11::bigint) THEN 1 ELSE 0 END))";
  return Page(
      "WITH page AS (SELECT DISTINCT b.publish_time, b.id, b.kind, b.article_number, b.seq "
      "FROM unnest((SELECT $14::text[]), (SELECT $15::bigint[])) AS v (keyword, mask) "
      "CROSS JOIN LATERAL (" +
          hits + scan + marker +
          ") b ORDER BY b.publish_time DESC, b.id DESC, b.kind LIMIT (SELECT $11::bigint)) ",
      "FALSE");
}

std::string Newer() {
  return Page(
      "WITH fresh AS MATERIALIZED (SELECT e.publish_time, e.id, e.seq, e.article_number, e.source, "
      "e.language, e.has_image, e.terms FROM newsfeed.feed_entries e "
      "WHERE e.feed = (SELECT $1::text) "
      "AND e.seq > (SELECT $6::bigint) AND e.seq <= (SELECT $7::bigint) "
      "ORDER BY e.seq LIMIT (SELECT $5::bigint + 1)), "
      "size AS MATERIALIZED (SELECT count(*) > (SELECT $5::bigint) AS overflow FROM fresh), "
      "page AS (SELECT 1 AS kind, e.publish_time, e.id, e.article_number, e.seq FROM fresh e "
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

const pg::Statement& PageByKeyword() {
  static const std::string sql = ByKeyword();
  static const pg::Statement statement = Keep("newsfeed.page_by_keyword", sql);
  return statement;
}

const pg::Statement& PageBySeq() {
  static const std::string sql = Newer();
  static const pg::Statement statement = Keep("newsfeed.page_by_seq", sql);
  return statement;
}

}  // namespace winnow::newsfeed
