#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "services/newsfeed/api/article_handlers.h"
#include "services/newsfeed/api/category_handlers.h"
#include "services/newsfeed/api/convert.h"
#include "services/newsfeed/api/feed_handlers.h"
#include "services/newsfeed/labels/embedded_category_rules.h"
#include "services/newsfeed/write/write_store.h"
#include "services/platform/base/timestamp.h"
#include "services/platform/process/metrics.h"
#include "services/platform/proto/timestamp.h"
#include "tests/support/postgres/postgres.h"
#include "tests/support/sync/fake_clock.h"

namespace winnow::newsfeed {

// ListArticles as a call runs it: at once from memory, or null,
inline std::shared_ptr<const std::string> ListHot(FeedHandlers& handlers,
                                                  const v1::ListArticlesRequest& request) {
  FeedQuery query;
  auto bytes = handlers.ListFromMemory(request, query);
  return bytes.ok() ? *std::move(bytes) : nullptr;
}
// and where that does not answer.
inline StatusOr<std::string> ListWaiting(FeedHandlers& handlers, const rpc::CallContext& call,
                                         const v1::ListArticlesRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const FeedQuery query, FromProto(request));
  return handlers.ListArticles(call, query);
}

// Handlers over a store on a new database, by a clock that stands still.
class NewsFeedTest : public ::testing::Test {
 protected:
  static constexpr int kMemoryArticles = 20;

  static Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }

  static rpc::CallContext Call() { return rpc::BackgroundCall(std::chrono::seconds(60)); }

  static std::string NewDatabase() {
    return test::Postgres::Instance().NewDatabase("newsfeed", [](const std::string& url) {
      Metrics metrics;
      pg::Pool pool({.name = "setup", .url = url}, metrics);
      const Status migrated = pg::Migrate(pool, StoreMigrations(), Soon());
      if (!migrated.ok()) throw std::runtime_error(Message(migrated));
    });
  }

  static Time At(const char* text) { return *ParseTime(text); }

  // An article published `age` before the clock's time.
  v1::Article Make(const std::string& id, std::chrono::milliseconds age = {},
                   const std::vector<std::string>& categories = {}) const {
    v1::Article article;
    article.set_id(id);
    article.set_url("https://news.example/" + id);
    article.set_title("Title of " + id);
    article.set_source("example");
    *article.mutable_publish_time() = ToTimestamp(clock_.Now() - age);
    for (const std::string& category : categories) {
      article.add_categories()->set_category_id(category);
    }
    return article;
  }

  v1::BatchUpsertArticlesResponse Upsert(const std::vector<v1::Article>& articles) {
    v1::BatchUpsertArticlesRequest request;
    for (const v1::Article& article : articles) *request.add_articles() = article;
    auto response = article_handlers_.BatchUpsertArticles(Call(), request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? *response : v1::BatchUpsertArticlesResponse();
  }

  // Of one article that must be accepted.
  v1::UpsertedArticle UpsertOne(const v1::Article& article) {
    const v1::BatchUpsertArticlesResponse response = Upsert({article});
    if (response.results_size() != 1) return {};
    EXPECT_TRUE(response.results(0).has_upserted()) << response.results(0).error().message();
    return response.results(0).upserted();
  }

  StatusOr<v1::Article> Get(const std::string& id, const std::string& ns = "") {
    v1::GetArticleRequest request;
    request.set_namespace_(ns);
    request.set_id(id);
    WINNOW_ASSIGN_OR_RETURN(auto response, article_handlers_.GetArticle(Call(), request));
    return response.article();
  }

  StatusOr<v1::DeleteArticleResponse> Delete(const std::string& id) {
    v1::DeleteArticleRequest request;
    request.set_id(id);
    return article_handlers_.DeleteArticle(Call(), request);
  }

  v1::Category Create(const std::string& id, const std::string& parent = "") {
    v1::CreateCategoryRequest request;
    request.mutable_category()->set_id(id);
    request.mutable_category()->set_display_name(id);
    request.mutable_category()->set_parent_id(parent);
    auto response = category_handlers_.CreateCategory(Call(), request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->category() : v1::Category();
  }

  v1::ListArticlesResponse List(const v1::ListArticlesRequest& request) {
    std::shared_ptr<const std::string> bytes = ListHot(feed_handlers_, request);
    if (!bytes) {
      auto answered = ListWaiting(feed_handlers_, Call(), request);
      EXPECT_TRUE(answered.ok()) << answered.status();
      if (answered.ok()) bytes = std::make_shared<const std::string>(*std::move(answered));
    }
    v1::ListArticlesResponse response;
    EXPECT_TRUE(bytes && response.ParseFromString(*bytes));
    return response;
  }

  static v1::ListArticlesRequest Feed(const std::string& category = "", int page_size = 20,
                                      const std::string& token = "") {
    v1::ListArticlesRequest request;
    request.set_category_id(category);
    request.set_page_size(page_size);
    request.set_page_token(token);
    return request;
  }

  static std::vector<std::string> IdsOf(const v1::ListArticlesResponse& response) {
    std::vector<std::string> ids;
    for (const v1::Article& article : response.articles()) ids.push_back(article.id());
    return ids;
  }

  // Scrolls to the end.
  std::vector<std::string> Scroll(v1::ListArticlesRequest request) {
    std::vector<std::string> ids;
    do {
      const v1::ListArticlesResponse page = List(request);
      for (std::string& id : IdsOf(page)) ids.push_back(std::move(id));
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty() && !::testing::Test::HasFailure());
    return ids;
  }

  void Execute(const std::string& sql) {
    const Status done = writes_.Statements(Soon(), [&](pg::Session& session) {
      session.ExecuteText(sql);
      return OkStatus();
    });
    ASSERT_TRUE(done.ok()) << done;
  }

  // The one value of a query.
  int64_t Count(const std::string& sql) {
    const auto count = writes_.Statements(Soon(), [&](pg::Session& session) -> StatusOr<int64_t> {
      return session.ExecuteText(sql)[0][0].as<int64_t>();
    });
    EXPECT_TRUE(count.ok()) << count.status();
    return count.ok() ? *count : -1;
  }

  const std::string url_ = NewDatabase();
  winnow::test::FakeClock clock_;
  Metrics metrics_;
  pg::Pool reads_{{.name = "read", .url = url_}, metrics_};
  pg::Pool writes_{{.name = "write", .url = url_}, metrics_};
  pg::Pool logs_{{.name = "log", .url = url_}, metrics_};
  UpsertMetrics upserts_{metrics_};
  CommitPosition last_commit_;
  ArticleStore articles_{reads_};
  CategoryStore categories_{reads_};
  FeedStore feeds_{reads_};
  StatusStore status_{reads_, feeds_};
  WriteStore writer_{writes_, logs_, clock_, last_commit_, {}};
  TreeStore tree_{reads_, writes_, logs_, last_commit_, 3};
  TreeWorker tree_worker_{tree_, metrics_};
  FeedMemory memory_{kMemoryArticles, 4};
  WatchHub watches_{metrics_};
  MemoryWorker memory_worker_{reads_, feeds_, memory_, watches_, kMemoryArticles, metrics_};
  SearchStore search_{reads_, writes_, metrics_};
  StatsStore stats_{reads_};
  PageMetrics pages_{metrics_};
  const CategoryRules rules_ = DefaultCategoryRules();
  FeedHandlers feed_handlers_{
      {feeds_, status_, search_, stats_, memory_, memory_worker_, watches_, clock_, pages_}, {}};
  ArticleHandlers article_handlers_{
      {articles_, categories_, writer_, memory_worker_, last_commit_, upserts_, rules_}};
  CategoryHandlers category_handlers_{
      {categories_, tree_, tree_worker_, memory_worker_, last_commit_}};
};

}  // namespace winnow::newsfeed
