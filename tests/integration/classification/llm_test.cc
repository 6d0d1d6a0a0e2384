#include <atomic>
#include <thread>

#include "services/classification/config.h"
#include "tests/integration/classification/fixture.h"
#include "tests/support/llm/fake_llm.h"

// Runs of a language model over real HTTP and a real store.
namespace winnow::classification {
namespace {

using test::FakeLlm;
using test::LlmFault;

// Real calls, but waits end at once: they advance the clock by `skipped`.
class HastyWorld final : public LlmEnvironment {
 public:
  using Skipped = std::atomic<std::chrono::steady_clock::duration>;
  HastyWorld(std::shared_ptr<LlmEnvironment> real, Skipped& skipped)
      : real_(std::move(real)), skipped_(skipped) {}

  WireReply Post(const std::string& body, FunctionRef<bool()> stop) override {
    return real_->Post(body, stop);
  }
  Deadline Now() override { return std::chrono::steady_clock::now() + skipped_.load(); }
  void Wait(Deadline until, FunctionRef<bool()>) override {
    auto skipped = skipped_.load();
    const auto wanted = until - std::chrono::steady_clock::now();
    while (skipped < wanted && !skipped_.compare_exchange_weak(skipped, wanted)) continue;
    std::this_thread::yield();
  }
  uint64_t Random() override { return real_->Random(); }
  void CountCall(Failure failure) override { real_->CountCall(failure); }
  void SetCircuitOpen(bool open) override { real_->SetCircuitOpen(open); }

 private:
  const std::shared_ptr<LlmEnvironment> real_;
  Skipped& skipped_;
};

class ClassificationLlmTest : public ClassificationTest {
 protected:
  explicit ClassificationLlmTest(test::LlmFaults faults = {}) : model_(std::move(faults)) {}

  config::v1::LanguageModel Config(int concurrency) const {
    config::v1::LanguageModel config;
    config.set_url(server_.url());
    config.set_model("fake");
    config.set_fallback_model("none");
    config.set_batch_size(16);
    config.set_concurrency(concurrency);
    config.set_max_prompt_tokens(6000);
    config.set_max_output_tokens(500);
    config.mutable_timeout()->set_seconds(20);
    config.mutable_patience()->set_seconds(60);
    config.set_input_price_micros(250'000);
    config.set_output_price_micros(2'000'000);
    return config;
  }

  // Hanging calls are given up soon, and nothing waits for its turn.
  std::shared_ptr<LlmClassifier> MakeHastyPort() {
    config::v1::LanguageModel config = Config(8);
    config.mutable_timeout()->set_seconds(0);
    config.mutable_timeout()->set_nanos(500'000'000);
    auto world = MakeLlmWorld(config, metrics_);
    EXPECT_TRUE(world.ok()) << world.status();
    LlmOptions options;
    options.model = {"fake", config.input_price_micros(), config.output_price_micros(), 500};
    options.fallback = Fallback::kNone;
    options.concurrency = static_cast<size_t>(config.concurrency());
    options.patience = std::chrono::hours(24 * 365);
    return std::make_shared<LlmClassifier>(options, std::make_shared<HastyWorld>(*world, skipped_));
  }

  std::unique_ptr<RunWorker> MakeWorker(const std::string& name, int concurrency = 4) {
    auto port = MakeLlmClassifier(Config(concurrency), metrics_);
    EXPECT_TRUE(port.ok()) << port.status();
    return MakeWorker(name, *std::move(port));
  }
  std::unique_ptr<RunWorker> MakeWorker(const std::string& name, std::shared_ptr<Classifier> port) {
    RunWorker::Options options = WorkerOptions();
    options.name = name;
    options.classifiers = {{"llm", std::move(port)}};
    return std::make_unique<RunWorker>(WorkerParts(), options);
  }

  v1::Run StartLlm(int64_t budget_micros = 0) {
    NewRun run;
    run.video = {"default", "v"};
    run.classifier = "llm";
    run.model = "fake+prompt-1";
    run.policy = "default";
    run.policy_version = 1;
    run.budget_micros = budget_micros;
    const auto started = stores_.runs.StartRun(Soon(), run);
    EXPECT_TRUE(started.ok()) << started.status();
    return ToProto(*started);
  }

  static bool HasEnded(v1::RunState state) {
    return state == v1::RUN_STATE_COMPLETE || state == v1::RUN_STATE_PAUSED;
  }

  // As many verdicts of each kind as the marks ask for.
  static std::string Marked(int count, int from = 0) {
    static constexpr const char* kMarks[] = {"", " #filter", " #suggest", " #toxic"};
    std::string json = "[";
    for (int i = from; i < from + count; ++i) {
      json += (i == from ? "" : ",") + std::string(R"({"id":"c)") + std::to_string(i) +
              R"(","videoId":"v","parentId":null,"text":"text )" + std::to_string(i) +
              kMarks[i % 4] + "\"}";
    }
    return json + "]";
  }

  // Comments whose verdict is not the right one of the model.
  int64_t Wrong() {
    return Number(
        "SELECT count(*) FROM classification.verdicts v JOIN classification.comments c "
        "ON c.number = v.comment WHERE v.status IS DISTINCT FROM CASE "
        "WHEN c.body LIKE '%#filter' OR c.body LIKE '%#toxic' THEN 2 "
        "WHEN c.body LIKE '%#suggest' THEN 3 ELSE 1 END");
  }

  // Texts that the model was asked about, without canaries.
  size_t Asked() const { return model_.items() - 2 * model_.calls(); }

  FakeLlm model_;
  test::FakeLlmServer server_{model_};
  std::atomic<std::chrono::steady_clock::duration> skipped_{};
};

class ClassificationLlmFaultsTest : public ClassificationLlmTest {
 protected:
  ClassificationLlmFaultsTest() : ClassificationLlmTest(test::HarshFaults()) {}
};

// A third of all calls fails, by every fault, over sockets that hang and break, and what comes of
// it goes through the store. WINNOW_LLM_WIRE_COMMENTS: 10^5 by ./x chaos classification.
TEST_F(ClassificationLlmFaultsTest, LosesDoublesAndMixesNothingOverSocketsIntoTheStore) {
  const char* size = std::getenv("WINNOW_LLM_WIRE_COMMENTS");
  const int comments = size == nullptr ? 1500 : std::stoi(size);
  for (int from = 0; from < comments; from += 5000) {
    Import(Marked(std::min(5000, comments - from), from));
  }
  const auto worker = MakeWorker("hasty", MakeHastyPort());
  worker->Start();
  const v1::Run run = StartLlm();
  const std::chrono::minutes limit(size == nullptr ? 4 : 60);
  ASSERT_TRUE(test::Eventually([&] { return HasEnded(Get(run.id()).state()); }, limit));
  worker->Stop();
  const v1::Run ended = Get(run.id());
  EXPECT_EQ(ended.state(), v1::RUN_STATE_COMPLETE) << ended.DebugString();
  EXPECT_EQ(ended.classified_count() + ended.failed_count(), comments);
  EXPECT_LT(ended.failed_count(), comments / 10);
  EXPECT_EQ(Number("SELECT count(*) FROM classification.verdicts v "
                   "JOIN classification.comments c ON c.number = v.comment"),
            comments);
  EXPECT_EQ(Number("SELECT count(*) FROM classification.verdicts"), comments);
  EXPECT_EQ(Wrong(), ended.failed_count());
  EXPECT_EQ(Number("SELECT count(*) FROM classification.verdicts WHERE status IS NOT NULL AND "
                   "failure <> 0"),
            0);
  // A call that was given up may be counted before the server reads it, or never read.
  EXPECT_LE(static_cast<int64_t>(model_.calls()), ended.call_count());
  EXPECT_EQ(Number("SELECT count(*) FROM classification.reservations"), 0);
  EXPECT_EQ(model_.complaint(), "");
  ExpectCountsHold();
  for (const auto& [fault, share] : test::HarshFaults()) {
    EXPECT_TRUE(size == nullptr || model_.CountOf(fault) > 0) << test::NameOf(fault);
  }
}

TEST_F(ClassificationLlmTest, ClassifiesARunAndNeverPaysForAKnownText) {
  Import(Marked(200));
  const auto worker = MakeWorker("a");
  worker->Start();
  const v1::Run first = AwaitComplete(StartLlm().id());
  EXPECT_EQ(first.call_count(), 13);
  EXPECT_GT(first.cost_micros(), 0);
  EXPECT_EQ(Wrong(), 0);
  const v1::Run again = AwaitComplete(StartLlm().id());
  EXPECT_EQ(again.call_count(), 0);
  EXPECT_EQ(again.cost_micros(), 0);
  Import(R"([{"id":"c7","videoId":"v","parentId":null,"text":"edited #suggest"}])");
  const v1::Run edited = AwaitComplete(StartLlm().id());
  EXPECT_EQ(edited.call_count(), 1);
  EXPECT_EQ(Asked(), 201u);
  EXPECT_EQ(model_.complaint(), "");
  EXPECT_EQ(Number("SELECT count(*) FROM classification.reservations"), 0);
  ExpectCountsHold();
}

// An instance dies between a call and its answer: what it had delivered is asked by nobody again,
// and what it may have spent is counted.
TEST_F(ClassificationLlmTest, FinishesTheRunOfADeadInstanceAndAsksNothingTwice) {
  Import(Marked(100));
  const v1::Run run = StartLlm();
  const std::vector<std::string> names = {"llm"};
  const auto lease = stores_.leases.LeaseRun(Soon(), "dead", names);
  ASSERT_TRUE(lease.ok() && *lease);
  const auto pending = stores_.leases.ReadPending(Soon(), **lease, 0, 40);
  ASSERT_TRUE(pending.ok());
  const auto settled = stores_.leases.ReserveCost(Soon(), **lease, 500);
  ASSERT_TRUE(settled.ok());
  std::vector<CommentOutcome> outcomes;
  for (const Comment& comment : *pending) {
    outcomes.push_back({comment.number,
                        comment.content_hash,
                        {CommentStatus::kNormal, Failure::kNone, Source::kModel, 0, ""}});
  }
  const Settlement settlement{*settled, 1, 300};
  ASSERT_TRUE(stores_.leases.WriteOutcomes(Soon(), **lease, outcomes, settlement).ok());
  ASSERT_TRUE(stores_.leases.WriteOutcomes(Soon(), **lease, outcomes, settlement).ok())
      << "it settles once";
  EXPECT_EQ(Get(run.id()).cost_micros(), 300);
  ASSERT_TRUE(stores_.leases.ReserveCost(Soon(), **lease, 700).ok());
  Number(
      "WITH x AS (UPDATE classification.runs SET lease_until = now() - interval '1 second' "
      "RETURNING 1) SELECT count(*) FROM x");
  const auto worker = MakeWorker("other");
  worker->Start();
  const v1::Run ended = AwaitComplete(run.id());
  worker->Stop();
  EXPECT_EQ(ended.classified_count(), 100);
  EXPECT_EQ(Asked(), 60u) << "only the pending";
  EXPECT_EQ(ended.call_count(), static_cast<int64_t>(2 + model_.calls()));
  EXPECT_GT(ended.cost_micros(), 1000) << "the call that nobody knows the end of counts in full";
  EXPECT_EQ(stores_.leases.ReserveCost(Soon(), **lease, 1).status().code(),
            StatusCode::kFailedPrecondition);
  ExpectCountsHold();
}

// While one instance works, its lease is taken away again and again: its holder continues, and
// only calls in flight are made twice.
TEST_F(ClassificationLlmTest, InstancesThatLoseTheirLeaseLoseNoVerdict) {
  constexpr int kComments = 640;
  Import(Marked(kComments));
  std::atomic<int> calls = 0;
  model_.set_choose([&](size_t, const auto&) {
    ++calls;
    return LlmFault::kNone;
  });
  const v1::Run run = StartLlm();
  const auto a = MakeWorker("a", 2);
  const auto b = MakeWorker("b", 2);
  a->Start();
  b->Start();
  int thefts = 0;
  while (Get(run.id()).state() != v1::RUN_STATE_COMPLETE) {
    const int before = calls;
    test::Eventually(
        [&] { return calls > before + 4 || Get(run.id()).state() == v1::RUN_STATE_COMPLETE; });
    Number(
        "WITH x AS (UPDATE classification.runs SET lease_until = now() - interval '1 second' "
        "WHERE state = 2 RETURNING 1) SELECT count(*) FROM x");
    ++thefts;
    a->Wake();
    b->Wake();
  }
  a->Stop();
  b->Stop();
  EXPECT_EQ(Get(run.id()).classified_count(), kComments);
  EXPECT_EQ(Wrong(), 0);
  EXPECT_LE(Asked(), static_cast<size_t>(kComments + thefts * 2 * 16 * 2))
      << "no more than the calls in flight come twice";
  EXPECT_EQ(Number("SELECT count(*) FROM classification.reservations"), 0);
  ExpectCountsHold();
}

TEST_F(ClassificationLlmTest, ReservationsNeverExceedTheBudget) {
  Import(Marked(10));
  StartLlm(10'000);
  const std::vector<std::string> names = {"llm"};
  const auto lease = stores_.leases.LeaseRun(Soon(), "one", names);
  ASSERT_TRUE(lease.ok() && *lease);
  std::atomic<int64_t> reserved = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&, i] {
      for (int n = 0; n < 12; ++n) {
        const int64_t micros = 500 + i;
        const auto id = stores_.leases.ReserveCost(Soon(), **lease, micros);
        ASSERT_TRUE(id.ok());
        if (*id != 0) reserved += micros;
        if (*id == 0 || n % 3 != 0) continue;
        ASSERT_TRUE(stores_.leases.WriteOutcomes(Soon(), **lease, {}, {*id, 1, micros / 2}).ok());
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_LE(Number("SELECT cost_micros + (SELECT sum(micros) FROM classification.reservations) "
                   "FROM classification.runs WHERE classifier = 'llm'"),
            10'000);
  EXPECT_GT(reserved, 9'000);
}

TEST_F(ClassificationLlmTest, SurvivesTheStoreAndTheServerFailingTogether) {
  Import(Marked(320));
  model_.set_retry_after(0);
  model_.set_choose([](size_t call, const auto&) {
    return call % 5 == 2   ? LlmFault::kUnavailable
           : call % 7 == 3 ? LlmFault::kCutOff
                           : LlmFault::kNone;
  });
  const v1::Run run = StartLlm();
  const auto worker = MakeWorker("a");
  worker->Start();
  test::Eventually([&] { return model_.calls() > 5; });
  test::Postgres::Instance().KillAndAwaitRestart();
  // The worker may have lost its lease's end of time: it is its own again when it has run out.
  const bool complete = test::Eventually([&] {
    (void)writes_.Statements(Soon(), [](pg::Session& session) {
      session.ExecuteText(
          "UPDATE classification.runs SET lease_until = now() WHERE state = 2 "
          "AND lease_until < now() + interval '20 seconds'");
      return OkStatus();
    });
    const auto now = stores_.runs.GetRun(Soon(), {"default", ToNumber(run.id())});
    return now.ok() && now->state == RunState::kComplete;
  });
  EXPECT_TRUE(complete);
  worker->Stop();
  test::Eventually([&] { return writes_.Check().ok() && reads_.Check().ok(); });
  EXPECT_EQ(Wrong(), 0);
  ExpectCountsHold();
}

TEST_F(ClassificationLlmTest, OldVerdictsAreSwept) {
  Import(Marked(20));
  const auto worker = MakeWorker("a");
  worker->Start();
  AwaitComplete(StartLlm().id());
  worker->Stop();
  EXPECT_EQ(Number("SELECT count(*) FROM classification.verdict_cache"), 20);
  EXPECT_EQ(*stores_.leases.SweepCache(Soon(), 100), 0);
  clock_.Advance(std::chrono::days(31));
  EXPECT_EQ(*stores_.leases.SweepCache(Soon(), 15), 15);
  EXPECT_EQ(*stores_.leases.SweepCache(Soon(), 15), 5);
}

}  // namespace
}  // namespace winnow::classification
