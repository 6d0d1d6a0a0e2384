#include "services/dedup/embedding/embedder_worker.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "tests/support/sync/eventually.h"

// How long an embedder is waited for: with a model whose calls a test holds open.
namespace winnow::dedup {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Caller = EmbedderWorker::Caller;

Deadline Soon() { return steady_clock::now() + std::chrono::seconds(60); }

// Milliseconds that a call of an endpoint takes, with a part for each text.
struct Endpoint {
  double call = 0;
  double text = 0;
  EmbedderPace::Time For(size_t texts) const {
    return EmbedderPace::Time(static_cast<int64_t>(1e6 * (call + text * double(texts))));
  }
};

TEST(EmbedderPace, OfASteadyEndpointIsNeverLessThanHalfWhateverTheCosts) {
  for (const Endpoint& endpoint : {Endpoint{5, 0}, Endpoint{200, 0}, Endpoint{900, 0},
                                   Endpoint{0, 3}, Endpoint{20, 3}, Endpoint{.1, 40}}) {
    for (uint64_t seed = 1; seed <= 50; ++seed) {
      std::mt19937_64 random(seed);
      EmbedderPace pace;
      EXPECT_EQ(pace.Of(1), std::nullopt);
      const size_t most = size_t{1} << random() % 9;
      for (int call = 0; call < 300; ++call) {
        const size_t texts = 1 + random() % most;
        const EmbedderPace::Time takes = endpoint.For(texts);
        const auto usual = pace.Of(texts);
        ASSERT_EQ(usual.has_value(), call > 0);
        if (usual) {
          ASSERT_GE(2 * *usual, takes) << "seed " << seed << ", call " << call << " of " << texts;
        }
        pace.Learn(texts, takes);
        ASSERT_LE(*pace.Of(texts), 2 * takes) << "so that a stall does not cost more";
      }
    }
  }
}

TEST(EmbedderPace, RisesAtOnceAndFallsInTime) {
  EmbedderPace pace;
  for (int i = 0; i < 100; ++i) pace.Learn(1, milliseconds(20));
  EXPECT_EQ(pace.Of(1), milliseconds(20));
  pace.Learn(1, milliseconds(700));
  EXPECT_EQ(pace.Of(1), milliseconds(700));
  pace.Learn(1, milliseconds(20));
  EXPECT_GT(*pace.Of(1), milliseconds(600)) << "one quick answer may be chance";
  for (int i = 0; i < 100; ++i) pace.Learn(1, milliseconds(20));
  EXPECT_LT(*pace.Of(1), milliseconds(25));
}

TEST(EmbedderPace, OfASizeNotMetYetIsBoundedByThoseThatWere) {
  EmbedderPace pace;
  pace.Learn(4, milliseconds(40));
  EXPECT_EQ(pace.Of(1), milliseconds(40)) << "fewer take no longer";
  EXPECT_EQ(pace.Of(64), milliseconds(640)) << "more take no more than in proportion";
  pace.Learn(32, milliseconds(100));
  EXPECT_EQ(pace.Of(64), milliseconds(200));
  pace.Learn(64, milliseconds(150));
  EXPECT_EQ(pace.Of(64), milliseconds(150));
}

// What a model's calls wait for, up to their deadlines.
class Gate {
 public:
  // Calls whose first text begins so are held.
  void Hold(const std::string& prefix) {
    std::lock_guard lock(mutex_);
    held_ = prefix;
  }
  void Release() {
    std::lock_guard lock(mutex_);
    held_.reset();
    changed_.notify_all();
  }
  int calls() const {
    std::lock_guard lock(mutex_);
    return calls_;
  }
  int waiting() const {
    std::lock_guard lock(mutex_);
    return waiting_;
  }
  // False: it was held until the deadline.
  bool Pass(const std::string& text, Deadline deadline) {
    std::unique_lock lock(mutex_);
    ++calls_;
    ++waiting_;
    const bool passed =
        changed_.wait_until(lock, deadline, [&] { return !held_ || !text.starts_with(*held_); });
    --waiting_;
    return passed;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::string> held_;
  int calls_ = 0;
  int waiting_ = 0;
};

class GatedEmbedder final : public Embedder {
 public:
  explicit GatedEmbedder(Gate& gate) : gate_(gate) {}
  const EmbedderCalibration& calibration() const override { return calibration_; }
  StatusOr<std::vector<index::Vector>> Embed(std::span<const std::string> texts,
                                             Deadline deadline) override {
    if (!gate_.Pass(texts.front(), deadline)) return DeadlineExceeded("held");
    return std::vector<index::Vector>(texts.size(), index::Vector{1});
  }

 private:
  const EmbedderCalibration calibration_{"gated", 0, 0.9};
  Gate& gate_;
};

class StalledEmbedder : public ::testing::Test {
 protected:
  ~StalledEmbedder() override { gate_.Release(); }

  void Open(const EmbedderWorkerOptions& options) {
    embedder_ =
        std::make_unique<EmbedderWorker>(std::make_unique<GatedEmbedder>(gate_), options, metrics_);
  }
  StatusOr<std::vector<index::Vector>> Embed(const std::string& text,
                                             Caller caller = Caller::kUrgent) {
    const std::vector<std::string> texts = {text};
    return embedder_->Embed(texts, Soon(), caller);
  }
  bool Counts(const std::string& kind, int count) const {
    const std::string series = "winnow_dedup_embedding_failures_total{kind=\"" + kind + "\"} ";
    return metrics_.Render().find(series + std::to_string(count) + "\n") != std::string::npos;
  }
  // As soon as a call was answered at its usual pace.
  void Learn() {
    for (int i = 0; !Embed("known " + std::to_string(i)).ok(); ++i) ASSERT_LT(i, 100);
  }

  // Of another number of texts than an urgent call's, whose pace it leaves as it is.
  std::thread BulkOfTwo(const std::string& name) {
    return std::thread([this, name] {
      const std::vector<std::string> texts = {name, name + " too"};
      EXPECT_TRUE(embedder_->Embed(texts, Soon(), Caller::kBulk).ok());
    });
  }

  Metrics metrics_;
  Gate gate_;
  std::unique_ptr<EmbedderWorker> embedder_;
};

// A call may take longer than any test.
const EmbedderWorkerOptions kEndless{.call_time = std::chrono::hours(1)};

TEST_F(StalledEmbedder, CostsOneCallerItsPatienceAndTheOthersNothing) {
  Open(kEndless);
  Learn();
  const int calls = gate_.calls();
  gate_.Hold("");
  const Deadline limit = Soon();
  EXPECT_EQ(Embed("first").status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_LT(steady_clock::now(), limit) << "left before its own deadline";
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(Embed("other " + std::to_string(i)).status().code(), StatusCode::kUnavailable);
  }
  EXPECT_LT(steady_clock::now(), limit) << "nobody else waited";
  EXPECT_TRUE(test::Eventually([&] { return gate_.waiting() == 1; })) << "it is still under way";
  EXPECT_EQ(gate_.calls(), calls + 1);
  EXPECT_TRUE(Counts("overdue", 1));
  EXPECT_TRUE(Counts("not_made", 1'000));
  EXPECT_TRUE(Counts("failed", 0));
  EXPECT_FALSE(embedder_->counts().is_down);
}

TEST_F(StalledEmbedder, IsNoFailureWhenItAnswersLateAndItsAnswerIsKept) {
  Open(kEndless);
  Learn();
  for (int round = 0; round < 2 * Circuit::kFailures; ++round) {
    // Each answer is a longer time that is known from then on.
    const std::string text = "late " + std::to_string(round);
    gate_.Hold("late");
    const auto soon = steady_clock::now() + milliseconds(5);
    const std::vector<std::string> texts = {text};
    EXPECT_FALSE(embedder_->Embed(texts, soon, Caller::kUrgent).ok());
    gate_.Release();
    ASSERT_TRUE(test::Eventually([&] { return Embed(text).ok(); }));
    const int calls = gate_.calls();
    EXPECT_TRUE(Embed(text).ok());
    EXPECT_EQ(gate_.calls(), calls) << "it is cached";
  }
  EXPECT_EQ(embedder_->counts().failures, 0);
  EXPECT_FALSE(embedder_->counts().is_down);
}

TEST_F(StalledEmbedder, IsWaitedForAgainOnceItsNewPaceIsKnown) {
  Open({.call_time = std::chrono::hours(1), .patience = milliseconds(1)});
  Learn();
  gate_.Hold("");
  const auto begin = steady_clock::now();
  while (Embed("slow").status().code() != StatusCode::kDeadlineExceeded) {
  }
  // Overdue by far: from the answer on four times as long is waited.
  ASSERT_TRUE(test::Eventually([&] { return steady_clock::now() - begin > milliseconds(500); }));
  gate_.Release();
  ASSERT_TRUE(test::Eventually([&] { return Embed("slow").ok(); }));
  gate_.Hold("");
  std::thread opener([&] {
    EXPECT_TRUE(test::Eventually([&] { return gate_.waiting() == 1; }));
    gate_.Release();
  });
  EXPECT_TRUE(Embed("again").ok()) << "1 ms of patience alone would not have sufficed";
  opener.join();
}

TEST_F(StalledEmbedder, OpensTheCircuitByTheDeadlineOfItsCallsAlone) {
  Open({.call_time = milliseconds(300), .patience = milliseconds(1)});
  Learn();
  gate_.Hold("");
  ASSERT_TRUE(test::Eventually([&] {
    EXPECT_FALSE(Embed("held").ok());
    return embedder_->counts().is_down;
  }));
  EXPECT_GE(embedder_->counts().failures, Circuit::kFailures);
  const int calls = gate_.calls();
  EXPECT_EQ(Embed("away").status().code(), StatusCode::kUnavailable);
  EXPECT_LE(gate_.calls(), calls + 1) << "but for a try of its own";
  gate_.Release();
  EXPECT_TRUE(test::Eventually([&] { return !embedder_->counts().is_down; }));
}

TEST_F(StalledEmbedder, HoldsNoUrgentTextBehindOtherCalls) {
  Open(kEndless);
  Learn();
  gate_.Hold("other");
  const std::vector<Caller> callers = {Caller::kBulk, Caller::kComparison, Caller::kComparison};
  std::vector<std::thread> others;
  for (size_t i = 0; i < callers.size(); ++i) {
    others.emplace_back([&, i] {
      const auto vectors = Embed("other " + std::to_string(i), callers[i]);
      EXPECT_TRUE(vectors.ok()) << "it waited for the end: " << vectors.status();
    });
  }
  EXPECT_TRUE(test::Eventually([&] { return gate_.waiting() == 3; }));
  EXPECT_TRUE(test::Eventually([&] { return Embed("urgent").ok(); }));
  EXPECT_EQ(gate_.waiting(), 3) << "answered while the other calls are under way";
  gate_.Release();
  for (std::thread& other : others) other.join();
}

// Where the endpoint answers one call after the other.
TEST_F(StalledEmbedder, IsWaitedForWhileItIsUsuallyStillBusyWithBulk) {
  Open({.call_time = std::chrono::hours(1), .patience = milliseconds(1)});
  Learn();
  gate_.Hold("");
  const auto begin = steady_clock::now();
  std::thread first = BulkOfTwo("first");
  ASSERT_TRUE(test::Eventually([&] { return steady_clock::now() - begin > milliseconds(700); }));
  gate_.Release();
  first.join();
  gate_.Hold("");
  std::thread second = BulkOfTwo("second");
  EXPECT_TRUE(test::Eventually([&] { return gate_.waiting() == 1; }));
  std::thread opener([&] {
    EXPECT_TRUE(test::Eventually([&] { return gate_.waiting() == 2; }));
    gate_.Release();
  });
  EXPECT_TRUE(Embed("urgent").ok()) << "behind bulk's call";
  opener.join();
  second.join();
}

TEST_F(StalledEmbedder, LetsBulkGoOnWhenItsCallFails) {
  Open({.call_time = milliseconds(20)});
  gate_.Hold("");
  for (int i = 0; i < 3 * Circuit::kFailures; ++i) {
    EXPECT_FALSE(Embed("bulk " + std::to_string(i), Caller::kBulk).ok());
  }
  EXPECT_TRUE(embedder_->counts().is_down);
  EXPECT_TRUE(Counts("overdue", 0)) << "bulk waits for the end of its calls";
}

TEST_F(StalledEmbedder, IsWaitedForInFullBeforeItsPaceIsKnown) {
  Open({.call_time = std::chrono::hours(1), .patience = milliseconds(1)});
  gate_.Hold("");
  std::thread opener([&] {
    EXPECT_TRUE(test::Eventually([&] { return gate_.waiting() == 1; }));
    gate_.Release();
  });
  EXPECT_TRUE(Embed("first").ok());
  opener.join();
}

TEST_F(StalledEmbedder, EndsWithItsCallsUnderWay) {
  Open({.call_time = milliseconds(500), .patience = milliseconds(1)});
  Learn();
  gate_.Hold("");
  EXPECT_TRUE(test::Eventually([&] {
    EXPECT_FALSE(Embed("left").ok());
    return gate_.waiting() == 1;
  }));
  embedder_.reset();
  EXPECT_EQ(gate_.waiting(), 0);
}

}  // namespace
}  // namespace winnow::dedup
