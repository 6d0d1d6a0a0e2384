// Keyword expressions and searches over many articles, against going through all of them:
// bench_newsfeed_filters [ARTICLES], 100,000 unless said.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "services/newsfeed/articles/article_sql.h"
#include "services/newsfeed/feed/entry_sql.h"
#include "services/newsfeed/feed/feed_membership.h"
#include "services/newsfeed/feed/feed_store.h"
#include "services/newsfeed/keywords/keyword_sql.h"
#include "services/newsfeed/search/search_store.h"
#include "services/newsfeed/search/search_terms.h"
#include "services/newsfeed/write/write_store.h"
#include "services/platform/postgres/server/private_postgres.h"
#include "tests/support/process/temp_dir.h"

namespace winnow::newsfeed {
namespace {

using std::chrono::steady_clock;

constexpr int kQueries = 400;
constexpr int kTags = 60;       // of which each article has 8: each is on an eighth
constexpr int kWords = 20'000;  // of titles, by Zipf's law
constexpr int kChecked = 20;    // queries whose pages are compared with going through all

Deadline Soon() { return steady_clock::now() + std::chrono::minutes(30); }

void OrExit(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

// Hangul of two to four characters, common ones and rare ones.
class Words {
 public:
  Words() {
    std::mt19937 random(1);
    for (int i = 0; i < kWords; ++i) {
      std::string& word = words_.emplace_back();
      for (unsigned n = 2 + random() % 3; n > 0; --n) {
        const unsigned code = 0xAC00 + random() % 11'172;
        word += static_cast<char>(0xE0 | code >> 12);
        word += static_cast<char>(0x80 | (code >> 6 & 0x3F));
        word += static_cast<char>(0x80 | (code & 0x3F));
      }
    }
  }
  const std::string& Pick(std::mt19937& random) const {
    const double uniform = std::uniform_real_distribution<double>(0, 1)(random);
    return words_[static_cast<size_t>(std::pow(kWords, uniform)) - 1];
  }

 private:
  std::vector<std::string> words_;
};

std::vector<StoredArticle> Make(const Words& words, int first, int count) {
  std::vector<StoredArticle> articles;
  for (int i = first; i < first + count; ++i) {
    std::mt19937 random(static_cast<unsigned>(i));
    Article article;
    article.id = "n" + std::to_string(i);
    article.source = "outlet";
    for (int w = 0; w < 7; ++w) article.title += (w == 0 ? "" : " ") + words.Pick(random);
    while (article.keywords.size() < 8) {
      std::string tag = "k" + std::to_string(random() % kTags);
      if (std::find(article.keywords.begin(), article.keywords.end(), tag) ==
          article.keywords.end()) {
        article.keywords.push_back(std::move(tag));
      }
    }
    article.publish_time =
        Time(std::chrono::sys_days(std::chrono::year(2020) / 1 / 1)) + std::chrono::minutes(i / 3);
    StoredArticle& stored =
        articles.emplace_back(NewArticle(article, article.publish_time, article.publish_time));
    stored.number = i + 1;
  }
  return articles;
}

void Fill(pg::Pool& pool, const Words& words, int articles) {
  for (int first = 0; first < articles; first += 1'000) {
    OrExit(pool.Transaction(Soon(), [&](pg::Session& session) {
      const std::vector<StoredArticle> rows = Make(words, first, 1'000);
      std::vector<Entry> entries;
      for (const StoredArticle& row : rows) {
        for (std::string& feed : FeedsOf(row, {})) {
          entries.push_back({std::move(feed), &row, row.number});
        }
      }
      InsertArticles(session, rows);
      InsertEntries(session, entries);
      InsertKeywords(session, rows);
      InsertSearch(session, rows);
      return OkStatus();
    }));
  }
  OrExit(pool.Statements(Soon(), [&](pg::Session& session) {
    session.ExecuteText("INSERT INTO newsfeed.log_streams VALUES ('feeds', " +
                        std::to_string(articles) + ", 'bench', now())");
    for (const char* table :
         {"news_articles", "feed_entries", "article_keywords", "article_search"}) {
      session.ExecuteText(std::string("VACUUM ANALYZE newsfeed.") + table);
    }
    return OkStatus();
  }));
}

// Times of the calls of `run`, in us; sorted.
template <class Run>
std::vector<double> Measure(Run run) {
  std::vector<double> micros;
  for (int i = -20; i < kQueries; ++i) {  // the first warm up
    const auto begin = steady_clock::now();
    run(std::max(i, 0));
    if (i < 0) continue;
    micros.push_back(
        std::chrono::duration<double, std::micro>(steady_clock::now() - begin).count());
  }
  std::sort(micros.begin(), micros.end());
  return micros;
}

void Print(const char* what, const std::vector<double>& micros, const char* bar) {
  std::printf("%-44s p50 %7.2f ms  p99 %7.2f ms   bar %s\n", what,
              micros[micros.size() / 2] / 1'000, micros[micros.size() * 99 / 100] / 1'000, bar);
}

std::string Expression(const char* shape, int query) {
  std::mt19937 random(static_cast<unsigned>(query));
  std::string text;
  for (const char* c = shape; *c != '\0'; ++c) {
    text += *c == '$' ? "k" + std::to_string(random() % kTags) : std::string(1, *c);
  }
  return text;
}

std::vector<std::string> IdsOf(const std::vector<StoredArticle>& articles) {
  std::vector<std::string> ids;
  for (const StoredArticle& article : articles) ids.push_back(article.content.id);
  return ids;
}

// The newest articles that pass; of one minute the greater id first.
template <class Passes>
std::vector<std::string> Newest(const Words& words, int articles, size_t count, Passes passes) {
  std::vector<StoredArticle> found;
  for (int first = articles - 1'000; first >= 0 && found.size() < count + 3; first -= 1'000) {
    for (StoredArticle& article : Make(words, first, 1'000)) {
      if (passes(article.content)) found.push_back(std::move(article));
    }
    std::sort(found.begin(), found.end(), [](const StoredArticle& a, const StoredArticle& b) {
      return FeedKey{a.publish_time, a.content.id} > FeedKey{b.publish_time, b.content.id};
    });
  }
  if (found.size() > count) found.resize(count);
  return IdsOf(found);
}

void BenchKeywords(FeedStore& store, const Words& words, int articles) {
  for (const char* shape : {"$ AND $ AND $", "$ OR $ OR $", "$ AND NOT $ AND NOT $"}) {
    std::vector<FeedQuery> queries;
    for (int i = 0; i < kQueries; ++i) {
      FeedQuery query;
      query.category = "all";
      auto expression = ParseKeywordExpression(Expression(shape, i));
      // k1 AND NOT k1: ask for k1 instead.
      query.filter.keywords =
          expression.ok() ? *std::move(expression) : *ParseKeywordExpression("k1");
      queries.push_back(std::move(query));
    }
    Print(shape, Measure([&](int i) {
            OrExit(store.ListArticles(Soon(), queries[static_cast<size_t>(i)]).status());
          }),
          "p99 < 3 ms");
    for (int i = 0; i < kChecked; ++i) {
      const FeedQuery& query = queries[static_cast<size_t>(i)];
      const auto page = store.ListArticles(Soon(), query);
      OrExit(page.status());
      const auto expected = Newest(words, articles, page->articles.size(), [&](const Article& a) {
        return Holds(query.filter.keywords, TermsOf(a));
      });
      if (IdsOf(page->articles) != expected) OrExit(Internal("differs from going through all"));
    }
  }
}

void BenchSearch(SearchStore& store, const Words& words, int articles) {
  std::vector<SearchQuery> queries;
  for (int i = 0; i < kQueries; ++i) {
    std::mt19937 random(static_cast<unsigned>(i) + 77);
    SearchQuery query;
    query.terms = {words.Pick(random).substr(0, 6)};  // two characters
    queries.push_back(std::move(query));
  }
  Print("search, two Korean characters", Measure([&](int i) {
          OrExit(store.Search(Soon(), queries[static_cast<size_t>(i)]).status());
        }),
        "p99 < 20 ms");
  for (int i = 0; i < kChecked; ++i) {
    const SearchQuery& query = queries[static_cast<size_t>(i)];
    const auto page = store.Search(Soon(), query);
    OrExit(page.status());
    const auto expected = Newest(words, articles, page->articles.size(), [&](const Article& a) {
      return HasTerms(query.terms, a.title, a.snippet);
    });
    if (IdsOf(page->articles) != expected) OrExit(Internal("a search differs from all"));
  }
}

void Run(int articles) {
  test::TempDir dir("bench");
  pg::PrivatePostgresOptions options;
  options.data_dir = dir.path();
  auto server = pg::PrivatePostgres::Start(options);
  OrExit(server.status());
  Metrics metrics;
  const std::string url = (*server)->connection_url();
  pg::Pool reads({.name = "read", .url = url}, metrics);
  pg::Pool writes({.name = "write", .url = url}, metrics);
  OrExit(pg::Migrate(writes, StoreMigrations(), Soon()));
  SystemClock clock;
  FeedStore store(reads);
  SearchStore search(reads, reads, metrics);
  const Words words;
  Fill(writes, words, articles);
  std::printf("%d articles of 8 tags of %d, %d queries each, pages of 20\n", articles, kTags,
              kQueries);
  BenchKeywords(store, words, articles);
  BenchSearch(search, words, articles);
}

}  // namespace
}  // namespace winnow::newsfeed

int main(int argc, char** argv) {
  const int articles = argc > 1 ? std::atoi(argv[1]) : 100'000;
  if (argc > 2 || articles < 1'000 || articles % 1'000 != 0) {
    std::fprintf(stderr, "usage: %s [ARTICLES, thousands]\n", argv[0]);
    return 2;
  }
  winnow::newsfeed::Run(articles);
  return 0;
}
