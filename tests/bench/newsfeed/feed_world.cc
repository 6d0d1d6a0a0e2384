#include "tests/bench/newsfeed/feed_world.h"

#include <grpcpp/grpcpp.h>

#include <sstream>
#include <stdexcept>

#include "services/collector/service.h"
#include "services/newsfeed/service.h"
#include "services/platform/proto/timestamp.h"
#include "tests/bench/measure.h"
#include "tests/support/news/news_stream.h"
#include "tests/support/postgres/postgres.h"
#include "tests/support/sync/eventually.h"

namespace winnow::bench {
namespace {

namespace v1 = newsfeed::v1;

constexpr char kNews[] = "stream-2026-02a.jsonl.gz";
constexpr size_t kBatch = 1'000;
constexpr std::chrono::seconds kCallTime(60);

void OrExit(const grpc::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.error_message());
}

v1::Article Synthetic(int number) {
  v1::Article article;
  for (int i = 0; i < 20; ++i) article.mutable_title()->append("\xEA\xB0\x80");
  for (int i = 0; i < 60; ++i) article.mutable_snippet()->append("\xEB\x82\x98");
  article.set_url("https://news.example/article/" + std::to_string(number));
  article.set_source("outlet" + std::to_string(number % 11));
  return article;
}

std::vector<v1::Article> RealOnes(int count) {
  std::vector<v1::Article> articles;
  for (const test::NewsItem& item : test::ReadNews(kNews)) {
    if (std::ssize(articles) == count) break;
    if (item.title.empty() || item.url.empty()) continue;
    v1::Article article;
    article.set_title(item.title);
    article.set_snippet(item.snippet);
    article.set_url(item.url);
    article.set_source(item.channel);
    articles.push_back(std::move(article));
  }
  return articles;
}

}  // namespace

std::string NewFeedDatabase() {
  return test::Postgres::Instance().NewDatabase("bench_feeds", [](const std::string& url) {
    Metrics metrics;
    pg::Pool pool({.name = "setup", .url = url}, metrics);
    OrExit(pg::Migrate(pool, newsfeed::NewsFeedMigrations(), Soon()));
    OrExit(pg::Migrate(pool, collector::CollectorMigrations(), Soon()));
  });
}

std::vector<v1::Article> MakeArticles(int count) {
  std::vector<v1::Article> articles = RealOnes(count);
  for (int i = static_cast<int>(articles.size()); i < count; ++i) articles.push_back(Synthetic(i));
  const Time now = SystemClock().Now();
  for (int i = 0; i < count; ++i) {
    v1::Article& article = articles[static_cast<size_t>(i)];
    article.set_id("bench-" + std::to_string(i));
    *article.mutable_publish_time() = ToTimestamp(now - std::chrono::minutes(i));
  }
  return articles;
}

FeedProcess::FeedProcess(const std::string& database, const std::string& redis_url)
    : platform_(database, redis_url) {
  platform_.Serve({collector::MakeCollectorTarget(platform_.parts()),
                   newsfeed::MakeNewsFeedTarget(platform_.parts())},
                  /*with_events=*/false);
  stub_ = v1::NewsFeedService::NewStub(platform_.channel());
}

FeedProcess::~FeedProcess() { stub_.reset(); }

void FeedProcess::Store(const std::vector<v1::Article>& articles) {
  for (size_t begin = 0; begin < articles.size(); begin += kBatch) {
    v1::BatchUpsertArticlesRequest request;
    for (size_t i = begin; i < std::min(begin + kBatch, articles.size()); ++i) {
      *request.add_articles() = articles[i];
    }
    v1::BatchUpsertArticlesResponse response;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCallTime);
    OrExit(stub_->BatchUpsertArticles(&context, request, &response));
    for (const v1::UpsertArticleResult& result : response.results()) {
      if (result.has_error()) throw std::runtime_error(result.error().message());
    }
  }
}

std::string FeedProcess::AwaitHotPage(const v1::ListArticlesRequest& request) {
  v1::ListArticlesResponse page;
  const bool hot = test::Eventually([&] {
    grpc::ClientContext context;
    OrExit(stub_->ListArticles(&context, request, &page));
    return page.meta().tiers_size() == 1 && page.meta().tiers(0).tier() == v1::TIER_MEMORY;
  });
  if (!hot) throw std::runtime_error("memory never served the page");
  return page.SerializeAsString();
}

double FeedProcess::Metric(const std::string& text) {
  std::istringstream lines(platform_.metrics().Render());
  double sum = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#') || line.find(text) == std::string::npos) continue;
    sum += std::stod(line.substr(line.rfind(' ') + 1));
  }
  return sum;
}

}  // namespace winnow::bench
