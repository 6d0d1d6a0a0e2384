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

// What may come again, since nobody knows what became of it.
bool Passes(StatusCode code) {
  return code == StatusCode::kUnavailable || code == StatusCode::kAborted ||
         code == StatusCode::kDeadlineExceeded;
}

constexpr std::chrono::minutes kBack(5);  // in which a killed store is back, on any machine

int FromEnvironment(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::stoi(value);
}

class ClassificationLawsTest : public ClassificationTest {
 protected:
  static constexpr int kFirst = 40;  // comments that people speak of

  int Below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  std::string AnyComment() { return "c" + std::to_string(Below(kFirst)); }
  // Of the newest: those before are pruned.
  const std::string& Recent(const std::vector<std::string>& all) {
    return all[all.size() - 1 - static_cast<size_t>(Below(std::min(12, int(all.size()))))];
  }
  const std::string& AnyRun() { return Recent(runs_); }

  // Until somebody answers: the store is killed now and then.
  template <class Request, class Response>
  StatusOr<Response> Insist(StatusOr<Response> (Handlers::*handler)(const rpc::CallContext&,
                                                                    const Request&),
                            const Request& request) {
    StatusOr<Response> response = Internal("not asked yet");
    EXPECT_TRUE(test::Eventually(
        [&] {
          response = (handlers_.*handler)(Call(), request);
          return !Passes(response.status().code());
        },
        kBack))
        << response.status();
    return response;
  }
  template <class Request, class Response>
  Response Must(StatusOr<Response> (Handlers::*handler)(const rpc::CallContext&, const Request&),
                const Request& request) {
    const StatusOr<Response> response = Insist(handler, request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? *response : Response();
  }

  void ImportSome(int count) {
    v1::ImportCommentsRequest request;
    request.set_video_id("v");
    request.set_raw(Comments(count, imported_));
    Must(&Handlers::ImportComments, request);
    imported_ += count;
    operations_ += count;
  }

  void StartOne() {
    v1::StartRunRequest start;
    start.set_video_id("v");
    start.set_classifier("external");
    start.set_request_id(NewId());
    const auto run = Insist(&Handlers::StartRun, start);
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
    operations_ += request.verdicts().verdicts_size();
    v1::IngestVerdictsResponse answer;
    EXPECT_TRUE(test::Eventually(
        [&] {
          answer = Deliver(request);
          return !Passes(static_cast<StatusCode>(answer.error().code()));
        },
        kBack))
        << answer.error().message();
    if (!answer.has_ingested()) return;
    const v1::IngestedVerdicts& told = answer.ingested();
    EXPECT_EQ(told.written_count() + told.known_count() + told.ignored_count() +
                  told.refused_count() + told.repeated_count(),
              request.verdicts().verdicts_size());
  }

  void OverrideOne(int status) {
    v1::OverrideClassificationRequest request;
    request.set_video_id("v");
    request.set_comment_id(AnyComment());
    request.set_status(static_cast<v1::CommentStatus>(status));
    request.set_request_id(NewId());
    Must(&Handlers::OverrideClassification, request);
    said_.Override(request.comment_id(), status);
  }

  void OverrideMany(int status) {
    v1::BulkOverrideClassificationsRequest request;
    request.set_video_id("v");
    request.set_status(static_cast<v1::CommentStatus>(status));
    request.set_request_id(NewId());
    std::set<std::string> comments;
    for (int i = 0; i < 15; ++i) comments.insert(AnyComment());
    for (const std::string& comment : comments) request.add_comment_ids(comment);
    bulks_.push_back(Must(&Handlers::BulkOverrideClassifications, request).bulk_id());
    for (const std::string& comment : comments) said_.Bulk(bulks_.back(), comment, status);
    operations_ += request.comment_ids_size();
  }

  void UndoSome() {
    v1::UndoOverrideRequest undo;
    undo.set_video_id("v");
    undo.set_request_id(NewId());
    if (bulks_.empty() || Below(2) == 0) {
      undo.set_comment_id(AnyComment());
      said_.Undo(undo.comment_id());
    } else {
      undo.set_bulk_id(Recent(bulks_));
      said_.UndoBulk(undo.bulk_id());
    }
    Must(&Handlers::UndoOverride, undo);
  }

  // Whether they may or not.
  void SwapSome() {
    v1::ActivateRunRequest activate;
    activate.set_run_id(AnyRun());
    (void)Insist(&Handlers::ActivateRun, activate);
    if (Below(2) == 0) return;
    v1::CancelRunRequest cancel;
    cancel.set_run_id(AnyRun());
    (void)Insist(&Handlers::CancelRun, cancel);
    v1::RollbackRunRequest back;
    back.set_run_id(AnyRun());
    (void)Insist(&Handlers::RollbackRun, back);
  }

  void Step() {
    ++operations_;
    const int what = Below(10);
    if (what == 0 && imported_ < 400) {
      ImportSome(5);
    } else if (what == 1 || runs_.empty()) {
      StartOne();
    } else if (what <= 4) {
      DeliverSome();
    } else if (what <= 6) {
      const int status = 1 + Below(3);
      Below(3) > 0 ? OverrideOne(status) : OverrideMany(status);
    } else if (what == 7) {
      UndoSome();
    } else {
      SwapSome();
    }
  }

  // Every law of counts and resolution, against a recount.
  void ExpectLawsHold() {
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

  std::mt19937 random_{7};
  int imported_ = 0;
  int64_t operations_ = 0;  // verdicts, overrides and comments each count
  std::vector<std::string> runs_;
  std::vector<std::string> bulks_;
  Said said_;
};

// WINNOW_CLASSIFICATION_STEPS, WINNOW_CLASSIFICATION_KILLS: 10^7 operations by ./x chaos
// classification.
TEST_F(ClassificationLawsTest, CountsHoldAfterRandomOperationsAndKills) {
  const int steps = FromEnvironment("WINNOW_CLASSIFICATION_STEPS", 250);
  const int kills = FromEnvironment("WINNOW_CLASSIFICATION_KILLS", 3);
  std::atomic<int> done = 0;
  std::thread killer([&] {
    for (int kill = 1; kill <= kills; ++kill) {
      const int from = static_cast<int>(int64_t{steps} * kill / (kills + 1));
      for (int at = done; at < from; at = done) done.wait(at);
      test::Postgres::Instance().KillAndAwaitRestart();
    }
  });
  ImportSome(kFirst);
  for (int step = 0; step < steps; ++step) {
    if (!HasFailure()) Step();
    ++done;
    done.notify_all();
  }
  killer.join();
  EXPECT_TRUE(test::Eventually([&] { return reads_.Check().ok() && writes_.Check().ok(); }));
  // What is left of a connection that died is found out by the first who uses it.
  test::Eventually([&] { return store_.Count(Soon(), {"default", "v"}).ok(); });
  ExpectLawsHold();
  std::printf("%lld operations, %d kills\n", static_cast<long long>(operations_), kills);
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
