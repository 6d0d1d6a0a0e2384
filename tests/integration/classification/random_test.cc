#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

#include "services/platform/base/hash.h"
#include "tests/integration/classification/fixture.h"
#include "tests/integration/classification/oracle.h"

// Random operations of several writers at once while PostgreSQL is killed again and again: counts,
// coverage, resolution and the pointer to the active run against an oracle that knows none of it.
namespace winnow::classification {
namespace {

constexpr std::chrono::minutes kBack(5);  // in which a killed store is back, on any machine
constexpr int kSpokenOf = 200;            // the first comments, of which people speak
constexpr int kMaxComments = 1000;

// What may come again, since nobody knows what became of it.
bool Passes(StatusCode code) {
  return code == StatusCode::kUnavailable || code == StatusCode::kAborted ||
         code == StatusCode::kDeadlineExceeded;
}

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::stoll(value);
}

Oracle::Counts ToCounts(const v1::StatusCounts& counts) {
  return {0,
          0,
          {counts.unclassified(), counts.normal(), counts.filtered(), counts.content_suggestion()}};
}

// One writer of a video. What it does is checked against an oracle where it has the video to
// itself.
class Player {
 public:
  Player(Handlers& handlers, std::string name, std::string video, bool alone)
      : handlers_(handlers),
        name_(std::move(name)),
        video_(std::move(video)),
        alone_(alone),
        random_(static_cast<unsigned>(Hash64(name_))) {}

  // Answers how many comments, runs and pointers it changed.
  int64_t Step() {
    changed_ = 0;
    const int what = Below(24);
    if (oracle_.comments() == 0) {
      Import(kSpokenOf);
    } else if (what == 0 && oracle_.comments() < kMaxComments) {
      Import(50);
    } else if (what <= 2 || runs_.empty()) {
      Start();
    } else if (what <= 16) {
      Deliver();
    } else if (what == 17) {
      Below(3) > 0 ? OverrideOne() : OverrideMany();
    } else if (what == 18) {
      Undo();
    } else if (what == 19) {
      Cancel();
    } else {
      Below(3) > 0 ? Activate() : RollBack();
    }
    return changed_;
  }

  void Check() {
    if (!alone_ || runs_.empty()) return;
    v1::ListRunsRequest list;
    list.set_video_id(video_);
    list.set_page_size(100);
    const v1::ListRunsResponse listed = Must(&Handlers::ListRuns, list);
    for (const v1::Run& run : listed.runs()) {
      ASSERT_TRUE(oracle_.Knows(run.id())) << "foreign run " << run.id();
      Oracle::Counts counts = ToCounts(run.counts());
      counts.classified = run.classified_count();
      counts.failed = run.failed_count();
      EXPECT_TRUE(counts == oracle_.CountsOf(run.id())) << name_ << ": " << run.DebugString();
      EXPECT_EQ(run.state() == v1::RUN_STATE_COMPLETE, oracle_.IsComplete(run.id()));
      EXPECT_EQ(run.active(), run.id() == oracle_.active());
    }
    v1::CountClassificationsRequest count;
    count.set_video_id(video_);
    const auto counts = Must(&Handlers::CountClassifications, count).counts();
    EXPECT_TRUE(ToCounts(counts).statuses == oracle_.CountsOf(oracle_.active()).statuses)
        << name_ << ": " << counts.DebugString();
  }

  const Oracle& oracle() const { return oracle_; }
  bool alone() const { return alone_; }
  int swaps() const { return swaps_; }

 private:
  int Below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  static std::string IdOf(int comment) { return "c" + std::to_string(comment); }
  std::string NewId() { return name_ + std::to_string(++ids_); }
  // Of the newest: those before are pruned.
  const std::string& Recent(const std::vector<std::string>& all) {
    return all[all.size() - 1 - static_cast<size_t>(Below(std::min(12, int(all.size()))))];
  }

  // Until somebody answers: the store is killed now and then.
  template <class Request, class Response>
  StatusOr<Response> Insist(StatusOr<Response> (Handlers::*handler)(const rpc::CallContext&,
                                                                    const Request&),
                            const Request& request) {
    StatusOr<Response> response = Internal("not asked yet");
    EXPECT_TRUE(test::Eventually(
        [&] {
          response = (handlers_.*handler)(rpc::BackgroundCall(std::chrono::seconds(60)), request);
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
    EXPECT_TRUE(response.ok()) << name_ << ": " << response.status();
    return response.ok() ? *response : Response();
  }
  // It went as the oracle foresaw, or the run is pruned.
  template <class Response>
  bool Went(const char* what, const StatusOr<Response>& response, bool foreseen) {
    if (response.ok()) ++changed_;
    if (alone_ && response.status().code() != StatusCode::kNotFound) {
      EXPECT_EQ(response.ok(), foreseen) << name_ << " " << what << ": " << response.status();
    }
    return response.ok();
  }

  void Import(int count) {
    v1::ImportCommentsRequest request;
    request.set_video_id(video_);
    std::string raw = "[";
    for (int i = oracle_.comments(); i < oracle_.comments() + count; ++i) {
      raw += (raw.size() > 1 ? "," : "") + std::string(R"({"id":")") + IdOf(i) +
             R"(","videoId":"v","parentId":null,"text":"comment )" + std::to_string(i) + "\"}";
    }
    request.set_raw(raw + "]");
    Must(&Handlers::ImportComments, request);
    oracle_.Import(count);
    changed_ += count;
  }

  void Start() {
    v1::StartRunRequest start;
    start.set_video_id(video_);
    start.set_classifier("external");
    start.set_request_id(NewId());
    const auto run = Insist(&Handlers::StartRun, start);
    if (!run.ok()) {  // 10 are unfinished
      EXPECT_EQ(run.status().code(), StatusCode::kResourceExhausted) << run.status();
      return;
    }
    runs_.push_back(run->run().id());
    oracle_.Start(runs_.back());
    ++changed_;
  }

  // Some in a row or all, some of them failures, now and then one twice.
  Oracle::Verdicts AnyVerdicts() {
    const int all = oracle_.comments();
    const int count = Below(4) == 0 ? all : 1 + Below(all);
    const int first = Below(all);
    const int failures = Below(3) == 0 ? 8 : 1'000'000;
    Oracle::Verdicts verdicts;
    for (int i = first; i < first + count; ++i) {
      const int comment = Below(50) == 0 ? Below(all) : i % all;
      verdicts.emplace_back(comment, Below(failures) == 0 ? Oracle::kFailed : 1 + Below(3));
    }
    return verdicts;
  }

  void Deliver() {
    v1::IngestVerdictsRequest request;
    request.set_run_id(Recent(runs_));
    const Oracle::Verdicts verdicts = AnyVerdicts();
    for (const auto& [comment, outcome] : verdicts) {
      v1::Verdict& verdict = *request.mutable_verdicts()->add_verdicts();
      verdict.set_comment_id(IdOf(comment));
      if (outcome == Oracle::kFailed) {
        verdict.set_failure(v1::FAILURE_KIND_SCHEMA);
      } else {
        verdict.set_status(static_cast<v1::CommentStatus>(outcome));
      }
    }
    v1::IngestVerdictsResponse answer;
    int tries = 0;
    EXPECT_TRUE(test::Eventually([&] { return ++tries, Delivered(request, answer); }, kBack))
        << answer.error().message();
    if (!answer.has_ingested()) return;  // it is cancelled, or pruned
    const v1::IngestedVerdicts& reported = answer.ingested();
    EXPECT_EQ(reported.written_count() + reported.known_count() + reported.ignored_count() +
                  reported.refused_count() + reported.repeated_count(),
              request.verdicts().verdicts_size());
    const int written = oracle_.Deliver(request.run_id(), verdicts);
    if (alone_ && tries == 1) {
      EXPECT_EQ(reported.written_count(), written) << name_;
    }
    changed_ += alone_ ? written : reported.written_count();
  }
  // Whether somebody answered.
  bool Delivered(const v1::IngestVerdictsRequest& request, v1::IngestVerdictsResponse& answer) {
    auto answers =
        handlers_.IngestVerdicts(rpc::BackgroundCall(std::chrono::seconds(60)), {&request, 1});
    EXPECT_TRUE(answers.ok()) << answers.status();
    if (answers.ok()) answer = (*answers)[0];
    return !Passes(static_cast<StatusCode>(answer.error().code()));
  }

  void OverrideOne() {
    const int comment = Below(kSpokenOf);
    const int status = 1 + Below(3);
    v1::OverrideClassificationRequest request;
    request.set_video_id(video_);
    request.set_comment_id(IdOf(comment));
    request.set_status(static_cast<v1::CommentStatus>(status));
    request.set_request_id(NewId());
    Must(&Handlers::OverrideClassification, request);
    oracle_.Override(comment, status);
    ++changed_;
  }

  void OverrideMany() {
    const int status = 1 + Below(3);
    std::set<int> comments;
    for (int i = 0; i < 30; ++i) comments.insert(Below(kSpokenOf));
    v1::BulkOverrideClassificationsRequest request;
    request.set_video_id(video_);
    request.set_status(static_cast<v1::CommentStatus>(status));
    request.set_request_id(NewId());
    for (const int comment : comments) request.add_comment_ids(IdOf(comment));
    bulks_.push_back(Must(&Handlers::BulkOverrideClassifications, request).bulk_id());
    for (const int comment : comments) oracle_.Bulk(bulks_.back(), comment, status);
    changed_ += request.comment_ids_size();
  }

  void Undo() {
    v1::UndoOverrideRequest undo;
    undo.set_video_id(video_);
    undo.set_request_id(NewId());
    if (bulks_.empty() || Below(2) == 0) {
      const int comment = Below(kSpokenOf);
      undo.set_comment_id(IdOf(comment));
      oracle_.Undo(comment);
    } else {
      undo.set_bulk_id(Recent(bulks_));
      oracle_.UndoBulk(undo.bulk_id());
    }
    changed_ += Must(&Handlers::UndoOverride, undo).undone_count();
  }

  void Activate() {
    v1::ActivateRunRequest activate;
    activate.set_run_id(Recent(runs_));
    const bool may = oracle_.MayActivate(activate.run_id());
    if (!Went("activates", Insist(&Handlers::ActivateRun, activate), may)) return;
    oracle_.Activate(activate.run_id());
    ++swaps_;
  }

  void RollBack() {
    v1::RollbackRunRequest back;
    back.set_run_id(oracle_.active().empty() || Below(4) == 0 ? Recent(runs_) : oracle_.active());
    back.set_request_id(NewId());
    const bool may = oracle_.MayRollBack(back.run_id());
    if (!Went("rolls back", Insist(&Handlers::RollbackRun, back), may)) return;
    oracle_.RollBack();
    ++swaps_;
  }

  void Cancel() {
    v1::CancelRunRequest cancel;
    cancel.set_run_id(Recent(runs_));
    const bool may = !oracle_.IsComplete(cancel.run_id());
    if (Went("cancels", Insist(&Handlers::CancelRun, cancel), may)) {
      oracle_.Cancel(cancel.run_id());
    }
  }

  Handlers& handlers_;
  const std::string name_;
  const std::string video_;
  const bool alone_;
  std::mt19937 random_;
  Oracle oracle_;
  std::vector<std::string> runs_;
  std::vector<std::string> bulks_;
  int64_t changed_ = 0;
  int swaps_ = 0;
  int ids_ = 0;
};

class ClassificationRandomTest : public ClassificationTest {
 protected:
  // Until `changes_` are as many as `target`; its video is checked a hundred times meanwhile.
  void Play(Player& player, int64_t target) {
    for (int64_t next = target / 100; changes_ < target && !HasFailure();) {
      changes_ += player.Step();
      changes_.notify_all();
      if (changes_ < next) continue;
      player.Check();
      next = changes_ + target / 100;
    }
    if (HasFailure()) changes_ += target;  // nobody waits for it
    changes_.notify_all();
  }

  void Kill(int64_t kills, int64_t target) {
    for (int64_t kill = 1; kill <= kills && !HasFailure(); ++kill) {
      const int64_t from = target * kill / (kills + 1);
      for (int64_t at = changes_; at < from; at = changes_) changes_.wait(at);
      test::Postgres::Instance().KillAndAwaitRestart();
      ExpectCountsHold();
    }
  }

  std::atomic<int64_t> changes_ = 0;
};

// WINNOW_CLASSIFICATION_OPERATIONS, WINNOW_CLASSIFICATION_KILLS: 10^7 and a hundred by ./x chaos
// classification. A change of a comment is an operation, so is one of a run or a pointer.
TEST_F(ClassificationRandomTest, CountsHoldAfterRandomOperationsAndKills) {
  const int64_t operations = FromEnvironment("WINNOW_CLASSIFICATION_OPERATIONS", 30'000);
  const int64_t kills = FromEnvironment("WINNOW_CLASSIFICATION_KILLS", 3);
  std::vector<std::unique_ptr<Player>> players;
  for (const char* video : {"a", "b"}) {
    players.push_back(std::make_unique<Player>(handlers_, video, video, true));
  }
  for (const char* name : {"x", "y"}) {
    players.push_back(std::make_unique<Player>(handlers_, name, "shared", false));
  }
  std::thread killer([&] { Kill(kills, operations); });
  std::vector<std::thread> threads;
  for (const auto& player : players) {
    threads.emplace_back([&, player = player.get()] { Play(*player, operations); });
  }
  for (std::thread& thread : threads) thread.join();
  killer.join();
  ExpectCountsHold();
  int swaps = 0;
  size_t overrides = 0;
  for (const auto& player : players) {
    player->Check();
    if (player->alone()) overrides += player->oracle().overrides();
    swaps += player->swaps();
  }
  EXPECT_EQ(Number("SELECT count(*) FROM classification.overrides o JOIN classification.videos w "
                   "ON w.number = o.video WHERE w.video_id <> 'shared'"),
            static_cast<int64_t>(overrides));
  EXPECT_GT(swaps, 0);
  std::printf("%lld operations, %lld kills, %d swaps\n", static_cast<long long>(changes_),
              static_cast<long long>(kills), swaps);
}

}  // namespace
}  // namespace winnow::classification
