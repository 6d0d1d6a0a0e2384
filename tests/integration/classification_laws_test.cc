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

// What people said of comments, newest last, as it should be: the oracle of the test below.
class Said {
 public:
  void Override(const std::string& comment, int status) { said_[comment] = {{"", status}}; }
  void Bulk(const std::string& bulk, const std::string& comment, int status) {
    auto& all = said_[comment];
    all.emplace_back(bulk, status);
    if (all.size() > 11) all.erase(all.begin());
  }
  void Undo(const std::string& comment) { said_.erase(comment); }
  void UndoBulk(const std::string& bulk) {
    for (auto& [comment, all] : said_) {
      std::erase_if(all, [&](const auto& one) { return one.first == bulk; });
    }
    std::erase_if(said_, [](const auto& one) { return one.second.empty(); });
  }
  const auto& all() const { return said_; }

 private:
  std::map<std::string, std::vector<std::pair<std::string, int>>> said_;
};

class ClassificationLawsTest : public ClassificationTest {
 protected:
  static constexpr int kFirst = 40;  // comments that people speak of

  int Below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  std::string AnyComment() { return "c" + std::to_string(Below(kFirst)); }
  const std::string& AnyRun() { return runs_[static_cast<size_t>(Below(int(runs_.size())))]; }

  void StartOne() {
    v1::StartRunRequest start;
    start.set_video_id("v");
    start.set_classifier("external");
    start.set_request_id(NewId());
    const auto run = handlers_.StartRun(Call(), start);
    if (run.ok()) runs_.push_back(run->run().id());
  }

  void DeliverSome() {
    v1::IngestVerdictsRequest request;
    request.set_run_id(AnyRun());
    for (int i = 0, n = 1 + Below(imported_); i < n; ++i) {
      v1::Verdict& verdict = *request.mutable_verdicts()->add_verdicts();
      verdict.set_comment_id("c" + std::to_string(Below(imported_)));
      if (Below(8) == 0) {
        verdict.set_failure(v1::FAILURE_KIND_SCHEMA);
      } else {
        verdict.set_status(static_cast<v1::CommentStatus>(1 + Below(3)));
      }
    }
    const auto answer = Deliver(request);
    if (!answer.has_ingested()) return;
    const v1::IngestedVerdicts& told = answer.ingested();
    EXPECT_EQ(told.written_count() + told.known_count() + told.ignored_count() +
                  told.refused_count() + told.repeated_count(),
              request.verdicts().verdicts_size());
  }

  void OverrideSome() {
    const int status = 1 + Below(3);
    if (Below(3) > 0) {
      const std::string comment = AnyComment();
      Override(comment, static_cast<v1::CommentStatus>(status));
      return said_.Override(comment, status);
    }
    v1::BulkOverrideClassificationsRequest request;
    request.set_video_id("v");
    request.set_status(static_cast<v1::CommentStatus>(status));
    request.set_request_id(NewId());
    std::set<std::string> comments;
    for (int i = 0; i < 15; ++i) comments.insert(AnyComment());
    for (const std::string& comment : comments) request.add_comment_ids(comment);
    bulks_.push_back(Do(&Handlers::BulkOverrideClassifications, request).bulk_id());
    for (const std::string& comment : comments) said_.Bulk(bulks_.back(), comment, status);
  }

  void UndoSome() {
    v1::UndoOverrideRequest undo;
    undo.set_video_id("v");
    if (bulks_.empty() || Below(2) == 0) {
      undo.set_comment_id(AnyComment());
      said_.Undo(undo.comment_id());
    } else {
      undo.set_bulk_id(bulks_[static_cast<size_t>(Below(static_cast<int>(bulks_.size())))]);
      said_.UndoBulk(undo.bulk_id());
    }
    Do(&Handlers::UndoOverride, undo);
  }

  // Whether they may or not.
  void SwapSome() {
    v1::ActivateRunRequest activate;
    activate.set_run_id(AnyRun());
    (void)handlers_.ActivateRun(Call(), activate);
    if (Below(2) == 0) return;
    v1::CancelRunRequest cancel;
    cancel.set_run_id(AnyRun());
    (void)handlers_.CancelRun(Call(), cancel);
    v1::RollbackRunRequest back;
    back.set_run_id(AnyRun());
    (void)handlers_.RollbackRun(Call(), back);
  }

  void Step() {
    const int what = Below(10);
    if (what == 0 && imported_ < 400) {
      Import(Comments(5, imported_));
      imported_ += 5;
    } else if (what == 1 || runs_.empty()) {
      StartOne();
    } else if (what <= 4) {
      DeliverSome();
    } else if (what <= 6) {
      OverrideSome();
    } else if (what == 7) {
      UndoSome();
    } else {
      SwapSome();
    }
  }

  std::mt19937 random_{7};
  int imported_ = kFirst;
  std::vector<std::string> runs_;
  std::vector<std::string> bulks_;
  Said said_;
};

// Every law of counts and resolution, against a recount, after many operations in any order.
TEST_F(ClassificationLawsTest, CountsHoldAfterRandomOperations) {
  const char* steps = std::getenv("WINNOW_CLASSIFICATION_STEPS");
  const int count = steps == nullptr ? 200 : std::stoi(steps);
  Import(Comments(kFirst));
  for (int step = 0; step < count && !HasFailure(); ++step) Step();
  ExpectCountsHold();
  for (const auto& [comment, all] : said_.all()) {
    EXPECT_EQ(Read(comment).status(), all.back().second) << comment;
  }
  EXPECT_EQ(Number("SELECT count(*) FROM classification.overrides"),
            static_cast<int64_t>(said_.all().size()));
  const v1::StatusCounts counts = Count();
  EXPECT_EQ(
      counts.normal() + counts.filtered() + counts.content_suggestion() + counts.unclassified(),
      imported_);
}

TEST_F(ClassificationTest, CountsHoldWhenTheServerIsKilled) {
  Import(Comments(200));
  const v1::Run run = Start("external");
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 0; !stop; i = (i + 7) % 200) {
      v1::IngestVerdictsRequest request;
      request.set_run_id(run.id());
      v1::Verdict& verdict = *request.mutable_verdicts()->add_verdicts();
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
