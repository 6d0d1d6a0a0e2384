#include "services/collector/service.h"

#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "services/newsfeed/service.h"
#include "services/platform/events/core/outbox.h"
#include "tests/support/postgres/postgres.h"
#include "tests/support/process/test_platform.h"
#include "tests/support/sync/eventually.h"
#include "winnow/collector/v1/collector_service.grpc.pb.h"
#include "winnow/newsfeed/v1/newsfeed_service.grpc.pb.h"

namespace winnow::newsfeed {
namespace {

using ::testing::HasSubstr;

Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }

std::string NewDatabase() {
  return test::Postgres::Instance().NewDatabase("newsfeed_collector", [](const std::string& url) {
    Metrics metrics;
    pg::Pool pool({.name = "setup", .url = url}, metrics);
    for (const pg::Migrations& migrations :
         {NewsFeedMigrations(), collector::CollectorMigrations()}) {
      const Status migrated = pg::Migrate(pool, migrations, Soon());
      if (!migrated.ok()) throw std::runtime_error(Message(migrated));
    }
  });
}

// The service as a caller sees it, with a real collector beside it and events between them.
class NewsFeedService : public ::testing::Test {
 protected:
  NewsFeedService() : platform_(NewDatabase()) {
    platform_.Serve(
        {collector::MakeCollectorTarget(platform_.parts()), MakeNewsFeedTarget(platform_.parts())});
    feed_ = v1::NewsFeedService::NewStub(platform_.channel());
    collector_ = collector::v1::CollectorService::NewStub(platform_.channel());
  }
  ~NewsFeedService() override {
    feed_.reset();
    collector_.reset();
    platform_.Stop();
  }

  template <class Stub, class Request, class Response>
  grpc::Status Call(Stub& stub,
                    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    return (stub.*method)(&context, request, &response);
  }

  std::string PutItem(const std::string& page) {
    collector::v1::BatchPutItemsRequest request;
    collector::v1::Item& item = *request.add_items();
    item.set_channel("outlet");
    item.set_title("Title of " + page);
    item.set_url("https://news.example/" + page);
    collector::v1::BatchPutItemsResponse response;
    const grpc::Status put =
        Call(*collector_, &collector::v1::CollectorService::Stub::BatchPutItems, request, response);
    EXPECT_TRUE(put.ok()) << put.error_message();
    return put.ok() ? response.results(0).stored().id() : "";
  }

  // As DedupService publishes it.
  void Publish(const std::function<void(winnow::events::v1::Envelope&)>& fill) {
    auto envelope = events::NewEnvelope(SystemClock().Now(), "default", "");
    fill(envelope);
    const Status written = platform_.pool().Transaction(Soon(), [&](pg::Session& session) {
      events::Append(session, "collector", {&envelope, 1});
      return OkStatus();
    });
    ASSERT_TRUE(written.ok()) << written;
    platform_.transport().Wake("collector");
  }

  grpc::Status Get(const std::string& id, v1::Article& article) {
    v1::GetArticleRequest request;
    request.set_id(id);
    v1::GetArticleResponse response;
    const grpc::Status status =
        Call(*feed_, &v1::NewsFeedService::Stub::GetArticle, request, response);
    article = response.article();
    return status;
  }

  test::TestPlatform platform_;
  std::unique_ptr<v1::NewsFeedService::Stub> feed_;
  std::unique_ptr<collector::v1::CollectorService::Stub> collector_;
};

TEST_F(NewsFeedService, ServesWhatThePipelineAccepted) {
  const std::string id = PutItem("1");
  const std::string repeat = PutItem("2");
  Publish([&](auto& envelope) {
    envelope.mutable_duplicate_found()->set_item_id(repeat);
    envelope.mutable_duplicate_found()->set_original_item_id(id);
    envelope.mutable_duplicate_found()->set_channel("outlet");
    envelope.mutable_duplicate_found()->mutable_arrival_time()->set_seconds(1);
  });
  Publish([&](auto& envelope) { envelope.mutable_item_accepted()->set_item_id(id); });
  v1::Article article;
  EXPECT_TRUE(
      test::Eventually([&] { return Get(id, article).ok() && article.citation_count() == 1; }));
  EXPECT_EQ(article.title(), "Title of 1");
  v1::ListArticlesResponse page;
  ASSERT_TRUE(
      Call(*feed_, &v1::NewsFeedService::Stub::ListArticles, v1::ListArticlesRequest(), page).ok());
  ASSERT_EQ(page.articles_size(), 1);
  EXPECT_EQ(page.articles(0).DebugString(), article.DebugString());
}

TEST_F(NewsFeedService, AnswersEveryMethodWithOurErrors) {
  using Stub = v1::NewsFeedService::Stub;
  v1::Article article;
  EXPECT_EQ(Get("nowhere", article).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Get("no id", article).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  v1::DeleteArticleRequest remove;
  remove.set_id("nowhere");
  v1::DeleteArticleResponse removed;
  EXPECT_EQ(Call(*feed_, &Stub::DeleteArticle, remove, removed).error_code(),
            grpc::StatusCode::NOT_FOUND);
  v1::CreateCategoryResponse created;
  EXPECT_EQ(Call(*feed_, &Stub::CreateCategory, v1::CreateCategoryRequest(), created).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  v1::ListCategoriesRequest list;
  list.set_page_size(-1);
  v1::ListCategoriesResponse listed;
  EXPECT_EQ(Call(*feed_, &Stub::ListCategories, list, listed).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);

  v1::BatchUpsertArticlesRequest upsert;
  upsert.add_articles();
  v1::BatchUpsertArticlesResponse upserted;
  ASSERT_TRUE(Call(*feed_, &Stub::BatchUpsertArticles, upsert, upserted).ok());
  ASSERT_EQ(upserted.results_size(), 1);
  const google::rpc::Status& error = upserted.results(0).error();
  EXPECT_EQ(error.code(), static_cast<int>(grpc::StatusCode::INVALID_ARGUMENT));
  bool reported = false;
  for (const auto& detail : error.details()) {
    google::rpc::BadRequest bad;
    if (detail.UnpackTo(&bad)) {
      reported = true;
      EXPECT_EQ(bad.field_violations_size(), 5) << bad.DebugString();
    }
  }
  EXPECT_TRUE(reported);
}

TEST_F(NewsFeedService, CountsWhatBecameOfArticles) {
  v1::BatchUpsertArticlesRequest request;
  v1::Article& article = *request.add_articles();
  article.set_id("a");
  article.set_url("https://news.example/a");
  article.set_title("Title");
  article.set_source("outlet");
  article.mutable_publish_time()->set_seconds(1);
  request.add_articles();
  v1::BatchUpsertArticlesResponse response;
  for (int round = 0; round < 2; ++round) {
    response.Clear();
    ASSERT_TRUE(
        Call(*feed_, &v1::NewsFeedService::Stub::BatchUpsertArticles, request, response).ok());
  }
  const std::string metrics = platform_.metrics().Render();
  EXPECT_THAT(metrics, HasSubstr("winnow_newsfeed_articles_total{outcome=\"created\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("winnow_newsfeed_articles_total{outcome=\"unchanged\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("winnow_newsfeed_articles_total{outcome=\"refused\"} 2"));
}

}  // namespace
}  // namespace winnow::newsfeed
