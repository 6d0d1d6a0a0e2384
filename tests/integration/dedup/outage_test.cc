#include <thread>

#include "tests/integration/dedup/service_fixture.h"
#include "tests/support/collector/collector.h"
#include "tests/support/postgres/postgres.h"
#include "tests/support/sync/eventually.h"

// The store goes away, restarts, or forgets what it said.
namespace winnow::dedup {
namespace {

constexpr const char* kTitle = "호수공원 산책로가 새 단장을 마치고 문을 열었다";

// What `read` answers. A connection that died with the server throws once, when it is used next.
template <class Read>
auto AfterOutage(const Read& read) {
  std::invoke_result_t<Read> answer{};
  EXPECT_TRUE(test::Eventually([&] {
    try {
      answer = read();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }));
  return answer;
}

class DedupOutage : public DedupServiceTest {
 protected:
  DedupOutage() { Serve(); }

  // Nobody can connect to the test's database, and those who are connected are cut off.
  void TakeStoreAway() {
    Admin("ALTER DATABASE " + Database() + " ALLOW_CONNECTIONS false");
    Admin("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + Database() +
          "'");
  }
  void BringStoreBack() { Admin("ALTER DATABASE " + Database() + " ALLOW_CONNECTIONS true"); }

 private:
  static std::string UrlWith(std::string url, const std::string& database) {
    const size_t slash = url.rfind('/', url.find('?'));
    return url.replace(slash + 1, std::min(url.find('?'), url.size()) - slash - 1, database);
  }
  std::string Database() const {
    const size_t slash = url_.rfind('/', url_.find('?'));
    return url_.substr(slash + 1, std::min(url_.find('?'), url_.size()) - slash - 1);
  }
  void Admin(const std::string& sql) {
    Metrics metrics;
    pg::Pool pool({.name = "admin", .url = UrlWith(url_, "postgres"), .connections = 1}, metrics);
    const Status status = pool.Statements(
        std::chrono::steady_clock::now() + std::chrono::seconds(60), [&](pg::Session& session) {
          session.ExecuteText(sql);
          return OkStatus();
        });
    ASSERT_TRUE(status.ok()) << status;
  }
};

TEST_F(DedupOutage, WithTheStoreAwayADocumentGoesOnUndecided) {
  EXPECT_TRUE(Submit(NewDocument("a", "one", kTitle)).recorded());
  TakeStoreAway();
  const v1::Decision undecided = Submit(NewDocument("b", "two", kTitle));
  EXPECT_EQ(undecided.verdict(), v1::VERDICT_UNIQUE);
  ASSERT_EQ(undecided.degradations_size(), 1);
  EXPECT_EQ(undecided.degradations(0), v1::DEGRADATION_STORE);
  EXPECT_FALSE(undecided.recorded());
  EXPECT_EQ(undecided.policy_version(), 0);
  EXPECT_NE(platform_.metrics().Render().find("winnow_dedup_fallback_total{level=\"store\"} 1"),
            std::string::npos);
  v1::CheckDocumentRequest check;
  *check.mutable_document() = NewDocument("", "two", kTitle);
  v1::CheckDocumentResponse checked;
  EXPECT_EQ(Call(&Stub::CheckDocument, check, checked).error_code(), grpc::StatusCode::UNAVAILABLE);
  BringStoreBack();
  EXPECT_TRUE(test::Eventually([&] {
    const v1::Decision decided = Submit(NewDocument("b", "two", kTitle));
    return decided.recorded() && decided.original_id() == "a";
  }));
}

TEST_F(DedupOutage, ItemsAreDecidedAfterConnectionsWereCut) {
  TakeStoreAway();
  BringStoreBack();
  collector::v1::BatchPutItemsRequest request;
  collector::v1::Item& item = *request.add_items();
  item.set_channel("one");
  item.set_title(kTitle);
  item.set_url("https://example.com/1");
  EXPECT_TRUE(test::Eventually([&] {
    grpc::ClientContext context;
    SetDeadline(context);
    collector::v1::BatchPutItemsResponse response;
    return collector_->BatchPutItems(&context, request, &response).ok();
  }));
  EXPECT_TRUE(test::Eventually([&] {
    return AfterOutage([&] {
             return test::QueryNumber(platform_.pool(), "SELECT count(*) FROM dedup.decisions");
           }) == 1;
  }));
}

// kill -9 of the server while documents stream in: what was answered as recorded is stored, nothing
// is stored twice, and the decisions are those of a serial replay.
TEST_F(DedupOutage, AKilledServerLosesNothingThatWasRecorded) {
  constexpr int kThreads = 4;
  constexpr int kDocuments = 300;
  std::atomic<int> submitted{0};
  std::vector<std::set<std::string>> recorded(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kDocuments; ++i) {
        const std::string id = std::to_string(t) + "-" + std::to_string(i);
        const v1::Document document =
            NewDocument(id, t % 2 == 0 ? "one" : "two", test::StoryTitle(i));
        ++submitted;
        if (Submit(document).recorded()) recorded[static_cast<size_t>(t)].insert(id);
      }
    });
  }
  for (const int after : {200, 600}) {
    EXPECT_TRUE(test::Eventually([&] { return submitted >= after; }));
    test::Postgres::Instance().KillAndAwaitRestart();
  }
  for (std::thread& thread : threads) thread.join();

  pg::Pool& pool = platform_.pool();
  EXPECT_TRUE(test::Eventually([&] { return pool.Check().ok(); }));
  int64_t stored = 0;
  for (const std::set<std::string>& ids : recorded) {
    stored += static_cast<int64_t>(ids.size());
    for (const std::string& id : ids) {
      v1::GetDecisionRequest request;
      request.set_document_id(id);
      v1::GetDecisionResponse response;
      EXPECT_TRUE(test::Eventually([&] {
        return Call(&Stub::GetDecision, request, response).ok();
      })) << id;
    }
  }
  EXPECT_GT(stored, 0);
  const auto number = [&](const std::string& sql) {
    return AfterOutage([&] { return test::QueryNumber(pool, sql); });
  };
  EXPECT_GE(number("SELECT count(*) FROM dedup.decisions"), stored);
  EXPECT_EQ(number("SELECT head - (SELECT count(*) FROM dedup.entries) FROM dedup.log_streams"), 0);
  EXPECT_EQ(AfterOutage([&] { return test::DifferencesFromReplay(pool, "default"); }),
            std::vector<std::string>());
}

}  // namespace
}  // namespace winnow::dedup
