#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "services/collector/service.h"
#include "services/newsfeed/service.h"
#include "services/platform/proto/timestamp.h"
#include "tests/support/postgres/postgres.h"
#include "tests/support/process/test_platform.h"
#include "winnow/newsfeed/v1/newsfeed_service.grpc.pb.h"

// What came after a moment: newer feed, count and watch, all by one token.
namespace winnow::newsfeed {
namespace {

using ::testing::ElementsAre;

class Watch : public ::testing::Test {
 protected:
  Watch() : url_(NewDatabase()), platform_(url_) {
    platform_.Serve(
        {collector::MakeCollectorTarget(platform_.parts()), MakeNewsFeedTarget(platform_.parts())});
    feed_ = v1::NewsFeedService::NewStub(platform_.channel());
  }
  ~Watch() override {
    feed_.reset();
    platform_.Stop();
  }

  static std::string NewDatabase() {
    return test::Postgres::Instance().NewDatabase("newsfeed_collector", [](const std::string& url) {
      Metrics metrics;
      pg::Pool pool({.name = "setup", .url = url}, metrics);
      for (const pg::Migrations& migrations :
           {NewsFeedMigrations(), collector::CollectorMigrations()}) {
        const Status migrated = pg::Migrate(
            pool, migrations, std::chrono::steady_clock::now() + std::chrono::seconds(60));
        if (!migrated.ok()) throw std::runtime_error(Message(migrated));
      }
    });
  }

  struct Limited : grpc::ClientContext {
    Limited() { set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60)); }
  };

  static v1::Article Make(const std::string& id, const std::vector<std::string>& categories = {}) {
    v1::Article article;
    article.set_id(id);
    article.set_url("https://news.example/" + id);
    article.set_title("Title of " + id);
    article.set_source("example");
    *article.mutable_publish_time() = ToTimestamp(SystemClock().Now());
    for (const std::string& category : categories) {
      article.add_categories()->set_category_id(category);
    }
    return article;
  }

  void Upsert(const v1::Article& article) {
    v1::BatchUpsertArticlesRequest request;
    *request.add_articles() = article;
    v1::BatchUpsertArticlesResponse response;
    Limited context;
    const grpc::Status put = feed_->BatchUpsertArticles(&context, request, &response);
    ASSERT_TRUE(put.ok()) << put.error_message();
    ASSERT_TRUE(response.results(0).has_upserted()) << response.results(0).error().message();
  }
  void Create(const std::string& id, const std::string& parent = "") {
    v1::CreateCategoryRequest request;
    request.mutable_category()->set_id(id);
    request.mutable_category()->set_display_name(id);
    request.mutable_category()->set_parent_id(parent);
    v1::CreateCategoryResponse response;
    Limited context;
    ASSERT_TRUE(feed_->CreateCategory(&context, request, &response).ok());
  }
  void Delete(const std::string& id) {
    v1::DeleteArticleRequest request;
    request.set_id(id);
    v1::DeleteArticleResponse response;
    Limited context;
    ASSERT_TRUE(feed_->DeleteArticle(&context, request, &response).ok());
  }
  v1::ListArticlesResponse List(const std::string& category = "", const std::string& token = "",
                                int size = 2) {
    v1::ListArticlesRequest request;
    request.set_category_id(category);
    request.set_page_size(size);
    request.set_page_token(token);
    v1::ListArticlesResponse response;
    Limited context;
    const grpc::Status listed = feed_->ListArticles(&context, request, &response);
    EXPECT_TRUE(listed.ok()) << listed.error_message();
    return response;
  }
  grpc::Status Count(const std::string& token, v1::CountNewArticlesResponse& response,
                     const std::string& category = "") {
    v1::CountNewArticlesRequest request;
    request.set_category_id(category);
    request.set_token(token);
    Limited context;
    return feed_->CountNewArticles(&context, request, &response);
  }
  int64_t Count(const std::string& token, const std::string& category = "") {
    v1::CountNewArticlesResponse response;
    const grpc::Status counted = Count(token, response, category);
    EXPECT_TRUE(counted.ok()) << counted.error_message();
    EXPECT_TRUE(response.exact());
    return response.article_count();
  }

  // A watch that goes on until it is dropped.
  class Reader {
   public:
    Reader(v1::NewsFeedService::Stub& stub, const std::string& category, const std::string& token,
           const std::string& source = "") {
      v1::WatchArticlesRequest request;
      request.set_category_id(category);
      request.set_resume_token(token);
      if (!source.empty()) request.mutable_filter()->add_sources(source);
      reader_ = stub.WatchArticles(&context_, request);
    }
    ~Reader() {
      context_.TryCancel();
      static_cast<void>(reader_->Finish());
    }
    // "+id" entered, "~id" changed, "-id" left, "gap", "." only a token.
    std::string Next() {
      v1::WatchArticlesResponse response;
      if (!reader_->Read(&response)) return "end";
      token = response.resume_token();
      switch (response.event_case()) {
        case v1::WatchArticlesResponse::kArticle:
          return (response.article().entered() ? "+" : "~") + response.article().article().id();
        case v1::WatchArticlesResponse::kTombstone:
          return "-" + response.tombstone().id();
        case v1::WatchArticlesResponse::kGap:
          return "gap";
        default:
          return ".";
      }
    }
    std::vector<std::string> Next(int count) {
      std::vector<std::string> events;
      for (int i = 0; i < count; ++i) events.push_back(Next());
      return events;
    }
    grpc::Status Finish() { return reader_->Finish(); }
    std::string token;

   private:
    Limited context_;
    std::unique_ptr<grpc::ClientReader<v1::WatchArticlesResponse>> reader_;
  };

  const std::string url_;
  test::TestPlatform platform_;
  std::unique_ptr<v1::NewsFeedService::Stub> feed_;
};

TEST_F(Watch, CountsWhatCameSinceAPage) {
  Create("chips");
  for (const char* id : {"a", "b", "c"}) Upsert(Make(id));
  const v1::ListArticlesResponse page = List();
  EXPECT_EQ(Count(page.newer_token()), 0);
  Upsert(Make("d"));
  Upsert(Make("e", {"chips"}));
  EXPECT_EQ(Count(page.newer_token()), 2);
  EXPECT_EQ(Count(page.next_page_token()), 2) << "a scroll's token too";
  Delete("d");
  EXPECT_EQ(Count(page.newer_token()), 1);
  EXPECT_EQ(Count(List("chips").newer_token(), "chips"), 0);
  EXPECT_EQ(List("", page.newer_token(), 10).articles_size(), 1);
}

TEST_F(Watch, CountingNeedsATokenThatTellsAMoment) {
  v1::CountNewArticlesResponse response;
  for (const char* token : {"", "1737100800000_a", "nonsense"}) {
    EXPECT_EQ(Count(token, response).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << token;
  }
  Upsert(Make("a"));
  const std::string token = List().newer_token();
  EXPECT_EQ(Count(token, response, "chips").error_code(), grpc::StatusCode::INVALID_ARGUMENT)
      << "of another feed";
}

TEST_F(Watch, TellsWhatEntersChangesAndLeaves) {
  Create("tech");
  Create("chips", "tech");
  Upsert(Make("old", {"chips"}));
  Reader reader(*feed_, "tech", "");
  EXPECT_EQ(reader.Next(), ".");
  Upsert(Make("a", {"chips"}));
  EXPECT_EQ(reader.Next(), "+a");
  v1::Article edited = Make("old", {"chips"});
  edited.set_title("Edited");
  Upsert(edited);
  EXPECT_EQ(reader.Next(), "~old");
  Upsert(Make("elsewhere"));
  Delete("elsewhere");  // nothing to those who watch tech
  edited.clear_categories();
  edited.add_categories()->set_category_id("tech");
  Upsert(edited);
  EXPECT_EQ(reader.Next(), "~old") << "a move inside the subtree";
  edited.clear_categories();
  Upsert(edited);
  EXPECT_EQ(reader.Next(), "-old");
  Delete("a");
  EXPECT_EQ(reader.Next(), "-a");
}

TEST_F(Watch, ResumesWithoutGapOrRepeat) {
  Upsert(Make("a"));
  const std::string page_token = List().newer_token();
  std::string token;
  {
    Reader reader(*feed_, "", page_token);
    EXPECT_EQ(reader.Next(), ".");
    Upsert(Make("b"));
    EXPECT_EQ(reader.Next(), "+b");
    token = reader.token;
  }
  Upsert(Make("c"));
  Delete("b");
  Upsert(Make("d"));
  Reader again(*feed_, "", token);
  EXPECT_THAT(again.Next(4), ElementsAre(".", "+c", "-b", "+d"));
  Upsert(Make("e"));
  EXPECT_EQ(again.Next(), "+e");
  EXPECT_EQ(Count(token), 3);
  EXPECT_EQ(List("", token, 10).articles_size(), 3) << "c, d, e";
  Reader from_page(*feed_, "", page_token);
  EXPECT_THAT(from_page.Next(5), ElementsAre(".", "+c", "-b", "+d", "+e"));
}

TEST_F(Watch, AnnouncesAGap) {
  Upsert(Make("a"));
  const std::string token = List().newer_token();
  Upsert(Make("b"));
  const Status pruned = platform_.pool().Statements(
      std::chrono::steady_clock::now() + std::chrono::seconds(60), [](pg::Session& session) {
        session.ExecuteText("DELETE FROM newsfeed.feed_log");
        return OkStatus();
      });
  ASSERT_TRUE(pruned.ok()) << pruned;
  Reader reader(*feed_, "", token);
  EXPECT_THAT(reader.Next(2), ElementsAre(".", "gap"));
  Upsert(Make("c"));
  EXPECT_EQ(reader.Next(), "+c");
}

TEST_F(Watch, RefusesWhatItCannotWatch) {
  Reader nowhere(*feed_, "nowhere", "");
  EXPECT_EQ(nowhere.Next(), "end");
  Reader token(*feed_, "", "nonsense");
  EXPECT_EQ(token.Next(), "end");
}

TEST_F(Watch, OfManyEachIsToldEverythingOnce) {
  constexpr int kReaders = 20;
  constexpr int kArticles = 30;
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < kReaders; ++i) readers.push_back(std::make_unique<Reader>(*feed_, "", ""));
  for (auto& reader : readers) EXPECT_EQ(reader->Next(), ".");
  std::thread writer([this] {
    for (int i = 0; i < kArticles; ++i) Upsert(Make("a" + std::to_string(i)));
  });
  for (auto& reader : readers) {
    for (int i = 0; i < kArticles; ++i) {
      // Written one after the other, so in that order.
      ASSERT_EQ(reader->Next(), "+a" + std::to_string(i));
    }
  }
  writer.join();
}

}  // namespace
}  // namespace winnow::newsfeed
