#include <atomic>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "tests/integration/classification_fixture.h"

// What must hold whatever happens: counts, coverage, resolution, swaps.
namespace winnow::classification {
namespace {

// Every law of counts and resolution, against a recount, after many operations in any order.
TEST_F(ClassificationTest, CountsHoldAfterRandomOperations) {
  const char* steps = std::getenv("WINNOW_CLASSIFICATION_STEPS");
  const int count = steps == nullptr ? 150 : std::stoi(steps);
  std::mt19937 random(7);
  const auto below = [&](int bound) { return static_cast<int>(random() % unsigned(bound)); };
  Import(Comments(40));
  std::map<std::string, int> overridden;
  std::vector<int64_t> runs;
  int imported = 40;
  for (int step = 0; step < count && !HasFailure(); ++step) {
    const int what = below(10);
    const std::string comment = "c" + std::to_string(below(40));
    if (what == 0 && imported < 400) {
      Import(Comments(5, imported));
      imported += 5;
    } else if (what == 1 || runs.empty()) {
      v1::StartRunRequest start;
      start.set_video_id("v");
      start.set_classifier("external");
      const auto run = handlers_.StartRun(Call(), start);
      if (run.ok()) runs.push_back(run->run().id());
    } else if (what <= 4) {
      v1::IngestVerdictsRequest request;
      request.set_run_id(runs[static_cast<size_t>(below(static_cast<int>(runs.size())))]);
      for (int i = 0, n = 1 + below(imported); i < n; ++i) {
        v1::Verdict& verdict = *request.add_verdicts();
        verdict.set_comment_id("c" + std::to_string(below(imported)));
        if (below(8) == 0) {
          verdict.set_failure(v1::FAILURE_KIND_SCHEMA);
        } else {
          verdict.set_status(static_cast<v1::CommentStatus>(1 + below(3)));
        }
      }
      Ingest(request);
    } else if (what <= 6) {
      const int status = 1 + below(3);
      Override(comment, static_cast<v1::CommentStatus>(status));
      overridden[comment] = status;
    } else if (what == 7) {
      v1::UndoOverrideRequest undo;
      undo.set_video_id("v");
      undo.set_comment_id(comment);
      Do(&Handlers::UndoOverride, undo);
      overridden.erase(comment);
    } else if (what == 8) {
      v1::ActivateRunRequest activate;
      activate.set_run_id(runs[static_cast<size_t>(below(static_cast<int>(runs.size())))]);
      (void)handlers_.ActivateRun(Call(), activate);
    } else {
      v1::CancelRunRequest cancel;
      cancel.set_run_id(runs[static_cast<size_t>(below(static_cast<int>(runs.size())))]);
      (void)handlers_.CancelRun(Call(), cancel);
      v1::RollbackRunRequest back;
      back.set_video_id("v");
      (void)handlers_.RollbackRun(Call(), back);
    }
  }
  ExpectCountsHold();
  for (const auto& [comment, status] : overridden) {
    EXPECT_EQ(Read(comment).status(), status) << comment;
  }
  EXPECT_EQ(Number("SELECT count(*) FROM classification.overrides"),
            static_cast<int64_t>(overridden.size()));
  const v1::StatusCounts counts = Count();
  EXPECT_EQ(
      counts.normal() + counts.filtered() + counts.content_suggestion() + counts.unclassified(),
      imported);
}

TEST_F(ClassificationTest, CountsHoldWhenTheServerIsKilled) {
  Import(Comments(200));
  const v1::Run run = Start("external");
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 0; !stop; i = (i + 7) % 200) {
      v1::IngestVerdictsRequest request;
      request.set_run_id(run.id());
      v1::Verdict& verdict = *request.add_verdicts();
      verdict.set_comment_id("c" + std::to_string(i));
      verdict.set_status(v1::COMMENT_STATUS_NORMAL);
      (void)handlers_.IngestVerdicts(Call(), {&request, 1});
      v1::OverrideClassificationRequest override;
      override.set_video_id("v");
      override.set_comment_id("c" + std::to_string((i * 3) % 200));
      override.set_status(static_cast<v1::CommentStatus>(1 + i % 3));
      (void)handlers_.OverrideClassification(Call(), override);
    }
  });
  for (int i = 0; i < 2; ++i) {
    const int64_t before = Get(run.id()).classified_count();
    test::Eventually([&] {
      v1::GetRunRequest get;
      get.set_run_id(run.id());
      const auto now = handlers_.GetRun(Call(), get);
      return now.ok() && now->run().classified_count() > before + 5;
    });
    test::Postgres::Instance().KillAndAwaitRestart();
    const auto answers = [](pg::Session& session) {
      session.ExecuteText("SELECT 1");
      return OkStatus();
    };
    test::Eventually(
        [&] { return writes_.Read(Soon(), answers).ok() && reads_.Read(Soon(), answers).ok(); });
  }
  stop = true;
  writer.join();
  // What is left of a connection that died is found out by the first who uses it.
  test::Eventually([&] { return store_.Count(Soon(), {"default", "v"}).ok(); });
  test::Eventually([&] { return writes_.Check().ok(); });
  ExpectCountsHold();
}

TEST_F(ClassificationRunTest, CountsHowAnActivatedRunDiffersFromTheOneBefore) {
  Import(Comments(6));
  Activate(ExternalRun(6, v1::COMMENT_STATUS_NORMAL).id());
  const v1::Run run = Start("external");
  v1::IngestVerdictsRequest request;
  request.set_run_id(run.id());
  request.set_lists(R"({"normal":["c0","c1","c2","c3"],"filtered":["c4","c5"]})");
  Ingest(request);
  Activate(run.id());
  const std::string name = "winnow_classification_runs_compared_total";
  EXPECT_TRUE(test::Eventually([&] {
    const std::string shown = metrics_.Render();
    return shown.find(name + "{agrees=\"true\"} 4") != std::string::npos &&
           shown.find(name + "{agrees=\"false\"} 2") != std::string::npos;
  })) << metrics_.Render();
}

TEST_F(ClassificationTest, ReadersNeverSeeAMixWhileRunsAreSwapped) {
  constexpr int kComments = 300;
  Import(Comments(kComments));
  const v1::Run a = ExternalRun(kComments, v1::COMMENT_STATUS_NORMAL);
  const v1::Run b = ExternalRun(kComments, v1::COMMENT_STATUS_FILTERED);
  Activate(a.id());
  std::atomic<bool> stop = false;
  std::atomic<int> swaps = 0;
  std::thread swapper([&] {
    for (int i = 0; !stop; ++i) {
      Activate(i % 2 == 0 ? b.id() : a.id());
      ++swaps;
    }
  });
  v1::BatchGetClassificationsRequest request;
  request.set_video_id("v");
  for (int i = 0; i < kComments; ++i) request.add_comment_ids("c" + std::to_string(i));
  for (int round = 0; round < 30 && !HasFailure(); ++round) {
    std::set<int> statuses;
    const auto all = Do(&Handlers::BatchGetClassifications, request);
    for (const v1::ClassificationResult& one : all.results()) {
      statuses.insert(one.classification().status());
    }
    EXPECT_EQ(statuses.size(), 1u) << "a mix";
    const v1::StatusCounts counts = Count();
    EXPECT_TRUE(counts.normal() == kComments || counts.filtered() == kComments);
  }
  EXPECT_TRUE(test::Eventually([&] { return swaps > 4; }));
  stop = true;
  swapper.join();
}

}  // namespace
}  // namespace winnow::classification
