// The feeds' store against its floors, in one run: a page through the handler against the same
// prepared statement by libpq at the same depth, and BatchUpsertArticles against bare unnest-1000
// inserts of the same rows. Rounds of floor, ours, floor again (the A/A control); medians.
// Usage: bench_newsfeed [ARTICLES], default 200,000.
#include <libpq-fe.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "services/newsfeed/api/article_handlers.h"
#include "services/newsfeed/api/convert.h"
#include "services/newsfeed/api/feed_handlers.h"
#include "services/newsfeed/articles/article_sql.h"
#include "services/newsfeed/feed/entry_sql.h"
#include "services/newsfeed/feed/feed_membership.h"
#include "services/newsfeed/feed/feed_sql.h"
#include "services/newsfeed/keywords/keyword_sql.h"
#include "services/newsfeed/labels/embedded_category_rules.h"
#include "services/newsfeed/search/search_store.h"
#include "services/newsfeed/search/word_merge_worker.h"
#include "services/platform/postgres/server/private_postgres.h"
#include "tests/support/process/temp_dir.h"

namespace winnow::newsfeed {
namespace {

using std::chrono::steady_clock;

constexpr int kRounds = 7;
constexpr int kPages = 1'500;  // a leg
constexpr int kBatches = 8;    // a leg, of 1,000
constexpr int kMinutes = 3;    // articles that share one, about

Deadline Soon() { return steady_clock::now() + std::chrono::minutes(10); }

void OrExit(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double MicrosSince(steady_clock::time_point begin, int count) {
  return std::chrono::duration<double, std::micro>(steady_clock::now() - begin).count() / count;
}

struct Parts {
  explicit Parts(const std::string& url)
      : reads({.name = "read", .url = url}, metrics),
        writes({.name = "write", .url = url}, metrics),
        logs({.name = "log", .url = url}, metrics) {
    OrExit(pg::Migrate(writes, StoreMigrations(), Soon()));
  }
  void Execute(const std::string& sql) {
    OrExit(writes.Statements(Soon(), [&](pg::Session& session) {
      session.ExecuteText(sql);
      return OkStatus();
    }));
  }
  SystemClock clock;
  Metrics metrics;
  pg::Pool reads, writes, logs;
  UpsertMetrics upserts{metrics};
  CommitPosition last_commit;
  ArticleStore articles{reads};
  CategoryStore categories{reads};
  FeedStore feeds{reads};
  StatusStore status{reads, feeds};
  WriteStore writer{writes, logs, clock, last_commit, {}};
  FeedMemory memory{1'000, 4};
  WatchHub watches{metrics};
  // Never started: the store answers.
  MemoryWorker memory_worker{reads, feeds, memory, watches, 1'000, metrics};
  SearchStore search{reads, writes, metrics};
  WordMergeWorker word_merge_worker{search, last_commit, metrics};
  StatsStore stats{reads};
  PageMetrics pages{metrics};
  const CategoryRules rules = DefaultCategoryRules();
  FeedHandlers feed_handlers{
      {feeds, status, search, stats, memory, memory_worker, watches, clock, pages}, {}};
  ArticleHandlers article_handlers{
      {articles, categories, writer, memory_worker, last_commit, upserts, rules}};
};

// Articles of the size of Korean news, oldest first, inside the database.
void Fill(Parts& parts, int articles) {
  const std::string count = std::to_string(articles);
  parts.Execute(
      "INSERT INTO newsfeed.news_articles (namespace, id, number, url, url_key, canonical_url, "
      "title, snippet, source, source_name, source_icon_url, thumbnail_url, video_url, category, "
      "categories, category_rules, category_scores, keywords, ai_tags, language, published_at, "
      "raw_published_at, first_published_at, published_at_clamped, created_at, updated_at, "
      "revision, sent_hash) SELECT 'default', md5(i::text)::uuid::text, i, "
      "'https://news.example/' || i, md5('u' || i)::uuid, 'https://news.example/' || i, "
      "repeat(chr(44032 + i % 1000), 40), repeat(chr(44032 + i % 900), 150), 'outlet' || i % 11, "
      "'Outlet', '', 'https://img.example/' || i, '', 'uncategorized', '{}', '{}', '{}', "
      "ARRAY['one', 'two'], '{}', 'ko', t, t, t, FALSE, now(), now(), 1, md5(i::text)::uuid "
      "FROM (SELECT i, timestamptz '2020-01-01' + (i / " +
      std::to_string(kMinutes) + ") * interval '1 minute' AS t FROM generate_series(1, " + count +
      ") AS i) g");
  parts.Execute(
      "INSERT INTO newsfeed.feed_entries (feed, publish_time, id, seq, article_number, source, "
      "language, has_image) SELECT 'default/' || f, published_at, id, number, number, source, "
      "language, TRUE FROM newsfeed.news_articles, (VALUES ('all'), ('uncategorized')) AS v (f)");
  parts.Execute("INSERT INTO newsfeed.log_streams VALUES ('feeds', " + count + ", 'bench', now())");
  parts.Execute("INSERT INTO newsfeed.feed_state VALUES ('default', now(), now())");
  parts.Execute("VACUUM ANALYZE newsfeed.news_articles");
  parts.Execute("VACUUM ANALYZE newsfeed.feed_entries");
}

class Libpq {
 public:
  explicit Libpq(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
    if (PQstatus(connection_) != CONNECTION_OK) Fail();
    PQclear(PQprepare(connection_, "page", PageByKey().sql, 0, nullptr));
  }
  ~Libpq() { PQfinish(connection_); }
  // Runs the page statement and looks at nothing.
  void Page(const std::string& before, int articles) {
    const std::string until = std::to_string(articles);
    const char* values[] = {"default/all", before.c_str(), "",      "-infinity", "10000",
                            "0",           until.c_str(),  nullptr, nullptr,     nullptr,
                            "21",          "default",      nullptr};
    PGresult* result = PQexecPrepared(connection_, "page", 13, values, nullptr, nullptr, 0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 22) Fail();
    PQclear(result);
  }

 private:
  [[noreturn]] void Fail() {
    std::fprintf(stderr, "%s\n", PQerrorMessage(connection_));
    std::exit(1);
  }
  PGconn* connection_;
};

// Minutes after the oldest, anywhere in the feed, the same for each leg of a round.
std::vector<int> Depths(int round, int articles) {
  std::mt19937 random(static_cast<unsigned>(round));
  std::vector<int> depths;
  for (int i = 0; i < kPages; ++i) {
    depths.push_back(20 +
                     static_cast<int>(random() % static_cast<unsigned>(articles / kMinutes - 20)));
  }
  return depths;
}

Time TimeOf(int minute) {
  return std::chrono::sys_days(std::chrono::year(2020) / 1 / 1) + std::chrono::minutes(minute);
}

double RunBarePages(Libpq& libpq, const std::vector<int>& depths, int articles) {
  std::vector<std::string> befores;
  for (const int depth : depths) befores.push_back(pg::ToParameter(TimeOf(depth)));
  const auto begin = steady_clock::now();
  for (const std::string& before : befores) libpq.Page(before, articles);
  return MicrosSince(begin, kPages);
}

double RunPages(Parts& parts, const std::vector<int>& depths, int articles) {
  std::vector<v1::ListArticlesRequest> requests(depths.size());
  for (size_t i = 0; i < depths.size(); ++i) {
    const FeedPosition position{
        .before = FeedKey{ToMillis(TimeOf(depths[i])), ""}, .until = articles, .epoch = "bench"};
    requests[i].set_page_token(EncodeFeedToken(position, HashFeed("default", "all", {})));
  }
  const rpc::CallContext call = rpc::BackgroundCall(std::chrono::minutes(10));
  const auto begin = steady_clock::now();
  for (const v1::ListArticlesRequest& request : requests) {
    FeedQuery query;
    OrExit(parts.feed_handlers.ListFromMemory(request, query).status());  // memory is empty: parses
    const auto page = parts.feed_handlers.ListArticles(call, query);
    OrExit(page.status());
    if (page->size() < size_t{20} * 500) OrExit(Internal("a short page"));
  }
  return MicrosSince(begin, kPages);
}

void BenchPages(Parts& parts, const std::string& url, int articles) {
  Libpq libpq(url);
  std::vector<double> bare, handler, again;
  for (int round = -1; round < kRounds; ++round) {  // the first warms up
    const std::vector<int> depths = Depths(round, articles);
    const double first = RunBarePages(libpq, depths, articles);
    const double ours = RunPages(parts, depths, articles);
    const double second = RunBarePages(libpq, depths, articles);
    if (round < 0) continue;
    bare.push_back(first);
    handler.push_back(ours);
    again.push_back(second);
  }
  std::printf("a page of 20 anywhere in %d articles, medians of %d rounds\n", articles, kRounds);
  std::printf("%-36s %8.1f us\n", "prepared statement by libpq", Median(bare));
  std::printf("%-36s %8.1f us\n", "the same again (A/A)", Median(again));
  std::printf("%-36s %8.1f us\n", "ListArticles by the handler", Median(handler));
  std::printf("%-36s %8.2f\n", "A/A control", Median(again) / Median(bare));
  std::printf("%-36s %8.2f   bar <= 1.30\n", "handler / libpq", Median(handler) / Median(bare));
}

v1::BatchUpsertArticlesRequest MakeBatch(int batch) {
  v1::BatchUpsertArticlesRequest request;
  for (int i = 0; i < 1'000; ++i) {
    const int n = batch * 1'000 + i;
    v1::Article& article = *request.add_articles();
    article.set_id(ToUuid(Hash128(std::to_string(n))));
    article.set_url("https://www.news.example/article/" + std::to_string(n) + "?utm_source=rss");
    for (int c = 0; c < 40; ++c) article.mutable_title()->append("\xEA\xB0\x80");
    for (int c = 0; c < 150; ++c) article.mutable_snippet()->append("\xEB\x82\x98");
    article.set_source("outlet" + std::to_string(n % 11));
    article.set_source_name("Outlet");
    article.set_thumbnail_url("https://img.example/" + std::to_string(n));
    article.add_keywords("one");
    article.add_keywords("two");
    article.set_language("ko");
    article.mutable_publish_time()->set_seconds(1'600'000'000 + n / kMinutes * 60);
  }
  return request;
}

double RunUpserts(Parts& parts, int first) {
  std::vector<v1::BatchUpsertArticlesRequest> requests;
  for (int i = 0; i < kBatches; ++i) requests.push_back(MakeBatch(first + i));
  const rpc::CallContext call = rpc::BackgroundCall(std::chrono::minutes(10));
  const auto begin = steady_clock::now();
  for (const auto& request : requests) {
    const auto response = parts.article_handlers.BatchUpsertArticles(call, request);
    OrExit(response.status());
    for (const auto& result : response->results()) {
      if (!result.has_upserted()) OrExit(Internal(result.error().message()));
    }
  }
  OrExit(parts.search.MergeWords(Soon()).status());  // what is left counts as well
  return MicrosSince(begin, kBatches * 1'000);
}

constexpr pg::Statement kBareLog{
    "bench.log",
    "INSERT INTO newsfeed.feed_log (seq, namespace, id, change) SELECT s.seq, s.namespace, s.id, 1 "
    "FROM unnest($1::bigint[], $2::text[], $3::text[]) AS s (seq, namespace, id)"};

// The rows that an upsert of this batch writes, by the same statements and nothing else.
double RunBareInserts(Parts& parts, int first) {
  std::vector<std::vector<StoredArticle>> batches;
  for (int i = 0; i < kBatches; ++i) {
    std::vector<StoredArticle>& rows = batches.emplace_back();
    int64_t number = int64_t{first + i} * 1'000;
    const v1::BatchUpsertArticlesRequest batch = MakeBatch(first + i);
    for (const v1::Article& sent : batch.articles()) {
      Violations violations;
      const Article article = FromProto(sent, "", violations);
      rows.push_back(NewArticle(article, parts.clock.Now(), parts.clock.Now()));
      rows.back().number = ++number;
    }
  }
  const auto begin = steady_clock::now();
  for (const std::vector<StoredArticle>& rows : batches) {
    OrExit(parts.writes.Transaction(Soon(), [&](pg::Session& session) {
      std::vector<Entry> entries;
      pg::Array positions, namespaces, ids;
      for (const StoredArticle& row : rows) {
        positions.Add(row.number);
        namespaces.Add(row.content.ns);
        ids.Add(row.content.id);
        for (std::string& feed : FeedsOf(row, {})) {
          entries.push_back({std::move(feed), &row, row.number});
        }
      }
      InsertArticles(session, rows);
      InsertEntries(session, entries);
      InsertKeywords(session, rows);
      InsertSearch(session, rows);
      session.Execute(kBareLog, positions, namespaces, ids);
      return OkStatus();
    }));
  }
  return MicrosSince(begin, kBatches * 1'000);
}

void BenchUpserts(Parts& ours, Parts& floor) {
  ours.word_merge_worker.Start();
  std::vector<double> bare, upsert, again, replay;
  for (int round = -1; round < kRounds; ++round) {
    const int batch = (round + 1) * 2 * kBatches;
    const double first = RunBareInserts(floor, batch);
    const double mine = RunUpserts(ours, batch);
    const double second = RunBareInserts(floor, batch + kBatches);
    const double repeated = RunUpserts(ours, batch);
    if (round < 0) continue;
    bare.push_back(first);
    upsert.push_back(mine);
    again.push_back(second);
    replay.push_back(repeated);
  }
  const auto rate = [](const std::vector<double>& micros) { return 1e6 / Median(micros); };
  std::printf("articles stored, medians of %d rounds of %d,000\n", kRounds, kBatches);
  std::printf("%-36s %8.0f /s\n", "bare unnest-1000, the same rows", rate(bare));
  std::printf("%-36s %8.0f /s\n", "the same again (A/A)", rate(again));
  std::printf("%-36s %8.0f /s\n", "BatchUpsertArticles by the handler", rate(upsert));
  std::printf("%-36s %8.0f /s\n", "the same articles sent again", rate(replay));
  std::printf("%-36s %8.2f\n", "A/A control", rate(again) / rate(bare));
  std::printf("%-36s %8.2f   bar >= 0.60\n", "handler / bare", rate(upsert) / rate(bare));
}

void Run(int articles) {
  test::TempDir dir("bench");
  pg::PrivatePostgresOptions options;
  options.data_dir = dir.path();
  auto server = pg::PrivatePostgres::Start(options);
  OrExit(server.status());
  const std::string url = (*server)->connection_url();
  {
    Metrics metrics;
    pg::Pool pool({.name = "setup", .url = url}, metrics);
    for (const char* name : {"ours", "bare"}) {
      OrExit(pool.Statements(Soon(), [&](pg::Session& session) {
        session.ExecuteText(std::string("CREATE DATABASE ") + name);
        return OkStatus();
      }));
    }
  }
  {
    Parts pages(url);
    Fill(pages, articles);
    BenchPages(pages, url, articles);
  }
  Parts ours((*server)->UrlOf("ours"));
  Parts floor((*server)->UrlOf("bare"));
  BenchUpserts(ours, floor);
}

}  // namespace
}  // namespace winnow::newsfeed

int main(int argc, char** argv) {
  winnow::newsfeed::Run(argc > 1 ? std::max(1'000, std::atoi(argv[1])) : 200'000);
}
