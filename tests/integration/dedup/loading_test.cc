#include <gmock/gmock.h>

#include <chrono>
#include <future>

#include "tests/integration/dedup/service_fixture.h"
#include "tests/support/collector/collector.h"
#include "tests/support/grpc/health_client.h"
#include "tests/support/postgres/entry_gate.h"
#include "tests/support/postgres/locked_table.h"
#include "tests/support/sync/eventually.h"

// A service whose windows are being loaded: what health, calls and metrics say.
namespace winnow::dedup {
namespace {

using test::CheckHealth;
using test::Eventually;
using test::Serving;
using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::Le;
using ::testing::Lt;

constexpr const char* kService = "winnow.dedup.v1.DedupService";
constexpr const char* kTitle = "호수공원 산책로가 새 단장을 마치고 문을 열었다";
constexpr int64_t kEntries = 20'000;
constexpr int64_t kGate = 10'007;  // not where the window's beginning is searched for

class DedupLoading : public DedupServiceTest {
 protected:
  // `count` entries of a namespace, one second apart, the last one now; the first one's title is
  // kTitle.
  void StoreEntries(const std::string& ns, int64_t count) {
    const std::string namespace_sql = "'" + ns + "'";
    OrFail(
        "INSERT INTO dedup.entries (namespace, seq, document_id, channel, title, lead,"
        " canonical_url, arrival_time, root_seq) SELECT " +
        namespace_sql + ", seq, 'd' || seq, 'one', CASE seq WHEN 1 THEN '" + kTitle +
        "' ELSE md5(seq::text) || ' ' || md5('x' || seq) END, '', '', now() - make_interval(secs"
        " => " +
        std::to_string(count) + " - seq), seq FROM generate_series(1, " + std::to_string(count) +
        ") AS seq");
    OrFail(
        "INSERT INTO dedup.log_streams (stream, head, epoch, last_arrival) SELECT " +
        namespace_sql +
        ", max(seq), '', max(arrival_time) FROM dedup.entries WHERE namespace = " + namespace_sql);
  }
  void OrFail(const std::string& sql) {
    const Status status = platform_.pool().Transaction(
        std::chrono::steady_clock::now() + std::chrono::seconds(60), [&](pg::Session& session) {
          session.ExecuteText(sql);
          return OkStatus();
        });
    ASSERT_TRUE(status.ok()) << status;
  }

  grpc::Status Check(std::chrono::milliseconds deadline, const std::string& ns = "default") {
    v1::CheckDocumentRequest request;
    *request.mutable_document() = NewDocument("", "two", kTitle);
    request.mutable_document()->set_namespace_(ns);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + deadline);
    checked_.Clear();
    return dedup_->CheckDocument(&context, request, &checked_);
  }
  // The value of a metric without labels, or with these; -1: there is no such metric.
  double Sample(const std::string& name) {
    const std::string text = "\n" + platform_.metrics().Render();
    const size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
  }
  Serving Health() { return CheckHealth(platform_.channel(), kService); }

  v1::CheckDocumentResponse checked_;
};

std::string ReasonIn(const grpc::Status& status) {
  const google::rpc::Status details = DetailsOf(status);
  for (const auto& detail : details.details()) {
    google::rpc::ErrorInfo info;
    if (detail.UnpackTo(&info)) return info.reason();
  }
  return "";
}

// Seconds; -1: there is none.
double RetryDelayIn(const grpc::Status& status) {
  const google::rpc::Status details = DetailsOf(status);
  for (const auto& detail : details.details()) {
    google::rpc::RetryInfo retry;
    if (!detail.UnpackTo(&retry)) continue;
    return static_cast<double>(retry.retry_delay().seconds()) +
           static_cast<double>(retry.retry_delay().nanos()) / 1e9;
  }
  return -1;
}

TEST_F(DedupLoading, ServesWhenItsWindowsAreLoadedAndNotBefore) {
  StoreEntries("default", kEntries);
  test::EntryGate gate(url_, "default", kGate);
  Serve();
  EXPECT_EQ(Health(), Serving::kNo);
  EXPECT_TRUE(Eventually([&] { return Sample("winnow_dedup_loading_entries") > 0; }));
  EXPECT_EQ(Health(), Serving::kNo);
  EXPECT_EQ(CheckHealth(platform_.channel(), ""), Serving::kYes) << "the process is alive";

  const grpc::Status refused = Check(std::chrono::seconds(1));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE) << refused.error_message();
  EXPECT_EQ(ReasonIn(refused), "WINDOW_LOADING");
  EXPECT_GT(RetryDelayIn(refused), 0);

  gate.Open();
  EXPECT_TRUE(Eventually([&] { return Health() == Serving::kYes; }));
  const grpc::Status answered = Check(std::chrono::seconds(60));
  ASSERT_TRUE(answered.ok()) << answered.error_message();
  EXPECT_EQ(checked_.decision().original_id(), "d1");
  EXPECT_EQ(Sample("winnow_dedup_window_documents"), kEntries);
}

TEST_F(DedupLoading, TellsItsProgress) {
  StoreEntries("default", kEntries);
  test::EntryGate gate(url_, "default", kGate);
  Serve();
  EXPECT_TRUE(Eventually([&] { return Sample("winnow_dedup_loading_entries_expected") > 0; }));
  EXPECT_EQ(Sample("winnow_dedup_loading_entries_expected"), kEntries);
  EXPECT_TRUE(Eventually([&] { return Sample("winnow_dedup_loading_entries") > 0; }));
  EXPECT_THAT(Sample("winnow_dedup_loading_entries"), AllOf(Gt(0), Lt(kGate)));
  EXPECT_EQ(Sample("winnow_dedup_windows{state=\"loading\"}"), 1);
  EXPECT_EQ(Sample("winnow_dedup_windows{state=\"loaded\"}"), 0);
  gate.Open();
  EXPECT_TRUE(Eventually([&] { return Sample("winnow_dedup_windows{state=\"loaded\"}") == 1; }));
  EXPECT_EQ(Sample("winnow_dedup_windows{state=\"loading\"}"), 0);
  EXPECT_EQ(Sample("winnow_dedup_loading_entries_expected"), 0);
  EXPECT_EQ(Sample("winnow_dedup_window_load_seconds_count"), 1);
}

TEST_F(DedupLoading, ACallWhoseDeadlineAllowsItWaits) {
  StoreEntries("default", kEntries);
  test::EntryGate gate(url_, "default", kGate);
  Serve();
  auto checked = std::async(std::launch::async, [&] { return Check(std::chrono::seconds(60)); });
  EXPECT_TRUE(Eventually([&] { return Sample("winnow_dedup_waiting_documents") == 1; }));
  gate.Open();
  const grpc::Status status = checked.get();
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(checked_.decision().original_id(), "d1");
}

TEST_F(DedupLoading, AnotherNamespaceIsServedMeanwhile) {
  StoreEntries("default", kEntries);
  StoreEntries("small", 10);
  test::EntryGate gate(url_, "default", kGate);
  Serve();
  const grpc::Status status = Check(std::chrono::seconds(60), "small");
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(checked_.decision().original_id(), "d1");
  EXPECT_EQ(Health(), Serving::kNo) << "a window that is needed is not loaded";
  gate.Open();
  EXPECT_TRUE(Eventually([&] { return Health() == Serving::kYes; }));
}

TEST_F(DedupLoading, WaitsUntilTheNamespacesCanBeListed) {
  StoreEntries("default", 10);
  test::LockedTable held(url_, "dedup.log_streams");
  Serve();
  EXPECT_EQ(Health(), Serving::kNo);
  held.Release();
  EXPECT_TRUE(Eventually([&] { return Health() == Serving::kYes; }));
  EXPECT_EQ(Sample("winnow_dedup_window_documents"), 10);
}

// A namespace that cannot be loaded must not keep the others out for ever.
TEST_F(DedupLoading, ServesTheOthersWhenOneNamespaceCannotBeLoaded) {
  StoreEntries("broken", 100);
  StoreEntries("default", 10);
  pqxx::connection connection(url_);
  {
    pqxx::work work(connection);
    test::HideEntries(work);
    test::LetEntriesPass(work,
                         "CASE WHEN namespace = 'broken' THEN 1 / (seq - 50) <> 7 ELSE true END");
    work.commit();
  }
  Serve();
  EXPECT_TRUE(Eventually([&] { return Health() == Serving::kYes; }));
  EXPECT_TRUE(Check(std::chrono::seconds(60)).ok());
  EXPECT_EQ(Sample("winnow_dedup_windows{state=\"failed\"}"), 1);
  EXPECT_EQ(Sample("winnow_dependency_up{probe=\"every_window\",target=\"dedup\"}"), 0);
  EXPECT_FALSE(Check(std::chrono::seconds(60), "broken").ok());
  {
    pqxx::work work(connection);
    test::LetEntriesPass(work, "true");
    work.commit();
  }
  EXPECT_TRUE(Eventually([&] { return Sample("winnow_dedup_windows{state=\"failed\"}") == 0; }));
  EXPECT_TRUE(Check(std::chrono::seconds(60), "broken").ok());
}

// Titles of every length around the one below which leads are kept, with spaces, in two scripts,
// and leads of more characters than are compared.
Document NextDocument(int number) {
  static const std::vector<std::string> kWords = {"정부", "새",  "주거대책", "다음달",
                                                  "발표", "fed", "금리",     "인상"};
  const auto mix = [](int seed) { return static_cast<size_t>(seed) * 2'654'435'761U >> 7; };
  const auto words = [&](size_t count, int seed) {
    std::string text;
    for (size_t i = 0; i < count; ++i) {
      if (i > 0) text += ' ';
      text += kWords[mix(seed + static_cast<int>(i) * 31) % kWords.size()];
    }
    return text;
  };
  Document document =
      test::NewDocument("d" + std::to_string(number), "c" + std::to_string(mix(number) % 5),
                        words(1 + mix(number) % 9, number % 40));
  document.text = words(mix(number + 7) % 60, number % 23);
  if (number % 3 == 0) document.url = "https://news.example/" + std::to_string(number % 60);
  document.arrival_time =
      SystemClock().Now() - std::chrono::hours(60) + std::chrono::minutes(6 * number);
  return document;
}

std::string Describe(const StatusOr<Decision>& decision) {
  if (!decision.ok()) return decision.status().ToString();
  std::string text = decision->original_id + " " + std::to_string(decision->similarity) + " " +
                     std::to_string(static_cast<int>(decision->stage));
  for (const Candidate& each : decision->candidates) {
    text += " | " + each.document_id + " of " + each.original_id + " " +
            std::to_string(each.scores.jaccard) + " " +
            std::to_string(each.scores.lead_jaccard.value_or(-1));
    for (const Guard guard : each.guards) text += " g" + std::to_string(static_cast<int>(guard));
  }
  return text;
}

// The one has decided every document itself, the other has read the log.
TEST(DedupLoaded, AnInstanceThatReadTheLogDecidesAsTheOneThatWroteIt) {
  constexpr int kDocuments = 600;
  for (const RuleMode mode : {RuleMode::kPublished, RuleMode::kCalibrated}) {
    const std::string url = test::NewDedupDatabase();
    Policy policy;
    policy.rule_mode = mode;
    test::DedupInstance writer(url, policy);
    std::vector<Document> documents;
    for (int i = 0; i < kDocuments; ++i) documents.push_back(NextDocument(i));
    for (const auto& decision : writer.Submit(documents)) {
      ASSERT_TRUE(decision.ok()) << decision.status();
    }
    ASSERT_LT(writer.documents_in_memory(), kDocuments) << "some have left the window";
    test::DedupInstance reader(url, policy);
    for (int i = 0; i < kDocuments; ++i) {
      Document probe = NextDocument(i);
      probe.id.clear();
      probe.channel = "another";
      probe.arrival_time = SystemClock().Now();  // of both: similarity depends on the time between
      ASSERT_EQ(Describe(reader.Check(probe)), Describe(writer.Check(probe))) << i;
    }
  }
}

// What of a window is beyond the limit is not read and forgotten, but not read.
TEST(DedupLoaded, NoMoreIsReadThanMayBeHeld) {
  const std::string url = test::NewDedupDatabase();
  constexpr int64_t kLimit = 2'000;
  {
    test::DedupInstance writer(url);
    std::vector<Document> documents;
    for (int i = 0; i < 3'000; ++i) {
      documents.push_back(test::NewDocument("d" + std::to_string(i), "one", test::StoryTitle(i)));
    }
    for (const auto& decision : writer.Submit(documents)) ASSERT_TRUE(decision.ok());
  }
  test::DedupInstance reader(url, {}, kLimit);
  EXPECT_TRUE(Eventually([&] { return reader.worker().CheckStart().ok(); }));
  EXPECT_EQ(reader.documents_in_memory(), kLimit);
  EXPECT_NE(reader.RenderMetrics().find("winnow_dedup_window_shortened_total 1"),
            std::string::npos);
  EXPECT_EQ(reader.Check(test::NewDocument("", "two", test::StoryTitle(2'999)))->original_id,
            "d2999");
  EXPECT_EQ(reader.Check(test::NewDocument("", "two", test::StoryTitle(10)))->original_id, "");
}

}  // namespace
}  // namespace winnow::dedup
