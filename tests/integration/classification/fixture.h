#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "services/classification/api/handlers.h"
#include "services/classification/runs/run_worker.h"
#include "services/classification/service.h"
#include "services/platform/proto/timestamp.h"
#include "tests/support/postgres/postgres.h"
#include "tests/support/sync/eventually.h"
#include "tests/support/sync/fake_clock.h"

namespace winnow::classification {

// Handlers and a worker over a store on a new database, by a clock that stands still.
class ClassificationTest : public ::testing::Test {
 protected:
  static Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }
  static rpc::CallContext Call() { return rpc::BackgroundCall(std::chrono::seconds(60)); }

  static std::string NewDatabase() {
    return test::Postgres::Instance().NewDatabase("classification", [](const std::string& url) {
      Metrics metrics;
      pg::Pool pool({.name = "setup", .url = url}, metrics);
      const Status migrated = pg::Migrate(pool, ClassificationMigrations(), Soon());
      if (!migrated.ok()) throw std::runtime_error(Message(migrated));
    });
  }

  RunWorker::Parts WorkerParts() {
    return {stores_.leases,          stores_.runs, stores_.comments, stores_.requests,
            stores_.cached_policies, verdicts_,    nullptr};
  }
  static RunWorker::Options WorkerOptions() {
    RunWorker::Options options;
    options.name = "test";
    options.classifiers = {{"embedded", std::make_shared<EmbeddedClassifier>()}};
    options.poll = std::chrono::milliseconds(20);
    return options;
  }

  template <class Request, class Response>
  Response Do(StatusOr<Response> (Handlers::*handler)(const rpc::CallContext&, const Request&),
              const Request& request) {
    auto response = (handlers_.*handler)(Call(), request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? *response : Response();
  }

  // `count` flat comments c0, c1, ...: every third a suggestion, every third filtered.
  static std::string Comments(int count, int from = 0) {
    static constexpr const char* kTexts[] = {"오늘도 잘 봤습니다",
                                             "다음에는 캠핑 영상도 올려주세요",
                                             "check out my channel and subscribe http://a.example"};
    std::string json = "[";
    for (int i = from; i < from + count; ++i) {
      json += (i == from ? "" : ",") + std::string(R"({"id":"c)") + std::to_string(i) +
              R"(","videoId":"v","parentId":null,"text":")" + kTexts[i % 3] + " " +
              std::to_string(i) + "\"}";
    }
    return json + "]";
  }

  v1::ImportCommentsResponse Import(const std::string& raw, const std::string& video = "v") {
    v1::ImportCommentsRequest request;
    request.set_video_id(video);
    request.set_raw(raw);
    return Do(&Handlers::ImportComments, request);
  }

  v1::Run Start(const std::string& classifier = "embedded", bool activate = false) {
    v1::StartRunRequest request;
    request.set_video_id("v");
    request.set_classifier(classifier);
    request.set_activate(activate);
    request.set_request_id(NewId());
    return Do(&Handlers::StartRun, request).run();
  }

  std::string NewId() { return "r" + std::to_string(++ids_); }

  v1::Run Get(const std::string& run) {
    v1::GetRunRequest request;
    request.set_run_id(run);
    return Do(&Handlers::GetRun, request).run();
  }

  v1::Run AwaitComplete(const std::string& run) {
    test::Eventually([&] { return Get(run).state() == v1::RUN_STATE_COMPLETE; });
    return Get(run);
  }

  // A complete run by the embedded model.
  v1::Run Classify() {
    const v1::Run run = Start();
    AwaitComplete(run.id());
    return Activate(run.id());
  }

  v1::Run Activate(const std::string& run) {
    v1::ActivateRunRequest request;
    request.set_run_id(run);
    return Do(&Handlers::ActivateRun, request).run();
  }

  // An external run whose verdicts are all `status`.
  v1::Run ExternalRun(int count, v1::CommentStatus status) {
    const v1::Run run = Start("external");
    for (int begin = 0; begin < count; begin += 1000) {
      v1::IngestVerdictsRequest request;
      request.set_run_id(run.id());
      for (int i = begin; i < std::min(count, begin + 1000); ++i) {
        v1::Verdict& verdict = *request.mutable_verdicts()->add_verdicts();
        verdict.set_comment_id("c" + std::to_string(i));
        verdict.set_status(status);
      }
      EXPECT_EQ(Ingest(request).written_count(), request.verdicts().verdicts_size());
    }
    return Get(run.id());
  }

  v1::IngestVerdictsResponse Deliver(const v1::IngestVerdictsRequest& request) {
    auto responses = handlers_.IngestVerdicts(Call(), {&request, 1});
    EXPECT_TRUE(responses.ok()) << responses.status();
    return responses.ok() ? (*responses)[0] : v1::IngestVerdictsResponse();
  }
  v1::IngestedVerdicts Ingest(const v1::IngestVerdictsRequest& request) {
    const v1::IngestVerdictsResponse response = Deliver(request);
    EXPECT_TRUE(response.has_ingested()) << response.error().message();
    return response.ingested();
  }

  v1::Classification Read(const std::string& comment) {
    v1::GetClassificationRequest request;
    request.set_video_id("v");
    request.set_comment_id(comment);
    return Do(&Handlers::GetClassification, request).classification();
  }

  void Override(const std::string& comment, v1::CommentStatus status) {
    v1::OverrideClassificationRequest request;
    request.set_video_id("v");
    request.set_comment_id(comment);
    request.set_status(status);
    request.set_actor("mina");
    Do(&Handlers::OverrideClassification, request);
  }

  v1::StatusCounts Count() {
    v1::CountClassificationsRequest request;
    request.set_video_id("v");
    return Do(&Handlers::CountClassifications, request).counts();
  }

  // Every run's counts against a recount of its rows: what must never differ.
  void ExpectCountsHold() {
    const std::string differ =
        "SELECT count(*) FROM classification.runs r JOIN LATERAL (SELECT "
        "count(*) FILTER (WHERE status IS NOT NULL) AS classified, "
        "count(*) FILTER (WHERE failure <> 0) AS failed, "
        "count(*) FILTER (WHERE resolved = 1) AS n1, count(*) FILTER (WHERE resolved = 2) AS n2, "
        "count(*) FILTER (WHERE resolved = 3) AS n3, "
        "count(*) FILTER (WHERE status IS NOT NULL AND failure <> 0) AS both, "
        "count(*) FILTER (WHERE NOT overridden AND resolved IS DISTINCT FROM status) AS odd "
        "FROM classification.verdicts v WHERE v.run = r.id) x ON TRUE "
        "WHERE (r.classified, r.failed, r.n_normal, r.n_filtered, r.n_suggestion) "
        "<> (x.classified, x.failed, x.n1, x.n2, x.n3) OR x.both > 0 OR x.odd > 0 "
        "OR (r.state = 4 AND r.classified + r.failed <> r.input_count)";
    EXPECT_EQ(Number(differ), 0);
    EXPECT_EQ(Number("SELECT count(*) FROM classification.videos w WHERE comment_count <> (SELECT "
                     "count(*) FROM classification.comments c WHERE c.video = w.number)"),
              0);
  }

  // Where PostgreSQL is killed meanwhile, once it is back.
  int64_t Number(const std::string& sql) {
    StatusOr<int64_t> number = Internal("not asked yet");
    test::Eventually([&] {
      number = writes_.Statements(Soon(), [&](pg::Session& session) -> StatusOr<int64_t> {
        return session.ExecuteText(sql)[0][0].as<int64_t>();
      });
      return number.status().code() != StatusCode::kUnavailable;
    });
    EXPECT_TRUE(number.ok()) << number.status();
    return number.ok() ? *number : -1;
  }

  int ids_ = 0;
  const std::string url_ = NewDatabase();
  test::FakeClock clock_;
  Metrics metrics_;
  pg::Pool reads_{{.name = "read", .url = url_}, metrics_};
  pg::Pool writes_{{.name = "write", .url = url_}, metrics_};
  VerdictMetrics verdicts_{metrics_};
  StoreSet stores_{reads_, writes_, clock_, std::chrono::days(30)};
  StoreWatches watches_{std::chrono::milliseconds(20)};
  RunWorker worker_{WorkerParts(), WorkerOptions()};
  Handlers handlers_{stores_, worker_, nullptr, watches_, verdicts_, {}};
};

// With its worker running.
class ClassificationRunTest : public ClassificationTest {
 protected:
  void SetUp() override { worker_.Start(); }
  void TearDown() override { worker_.Stop(); }
};

}  // namespace winnow::classification
