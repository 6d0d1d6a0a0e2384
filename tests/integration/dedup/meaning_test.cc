#include <gtest/gtest.h>

#include "services/dedup/log/log_store.h"
#include "tests/support/collector/collector.h"
#include "tests/support/dedup/dedup.h"
#include "tests/support/dedup/dedup_model.h"
#include "tests/support/sync/eventually.h"

// Meaning from the embedder to the decision and back out of the store, with a model that knows a
// few texts by heart. tests/e2e/test_dedup_meaning.py does the same with a real one.
namespace winnow::dedup {
namespace {

using test::DedupInstance;
using test::KnowingEmbedder;
using test::NewDocument;

const char* const kFirst = "금리가 다시 오른다";
const char* const kRetold = "기준 이자율 재차 인상키로";
const char* const kToldLater = "돈값이 또 비싸질 모양";

class DedupMeaning : public ::testing::Test {
 protected:
  // A cache of its own for each, as processes have.
  struct Instance {
    Instance(const std::string& url, const std::string& name) {
      auto knowing = std::make_unique<KnowingEmbedder>(name);
      const Normalizer& normalizer = test::BuiltInTextRules().normalizer();
      for (const char* const title : {kFirst, kRetold, kToldLater}) {
        knowing->Know(normalizer.Normalize(title), 1);
      }
      model = knowing.get();
      // No machine is so slow that a decision lacks its meaning.
      const EmbedderWorkerOptions options{.patience = std::chrono::seconds(30)};
      embedder = std::make_unique<EmbedderWorker>(std::move(knowing), options, metrics);
      decider = std::make_unique<DedupInstance>(url, Policy(), 4'000'000, embedder.get());
    }
    Metrics metrics;
    KnowingEmbedder* model = nullptr;
    std::unique_ptr<EmbedderWorker> embedder;
    std::unique_ptr<DedupInstance> decider;
  };

  static Decision Submit(DedupInstance& to, const std::string& id, const std::string& channel,
                         const std::string& title) {
    const auto decision = to.SubmitOne(NewDocument(id, channel, title));
    EXPECT_TRUE(decision.ok()) << decision.status();
    return decision.value_or(Decision());
  }

  const std::string url_ = test::NewDedupDatabase();
};

TEST_F(DedupMeaning, AParaphraseIsADuplicateWithTheEmbedderAndUniqueWithout) {
  {
    DedupInstance plain(test::NewDedupDatabase());
    EXPECT_EQ(Submit(plain, "1", "one", kFirst).verdict, Verdict::kUnique);
    EXPECT_EQ(Submit(plain, "2", "two", kRetold).verdict, Verdict::kUnique);
  }
  Instance with(url_, "knowing");
  EXPECT_EQ(Submit(*with.decider, "1", "one", kFirst).verdict, Verdict::kUnique);
  const Decision decision = Submit(*with.decider, "2", "two", kRetold);
  EXPECT_EQ(decision.verdict, Verdict::kDuplicate);
  EXPECT_EQ(decision.original_id, "1");
  EXPECT_EQ(decision.stage, Stage::kSemantic);
  EXPECT_TRUE(decision.degradations.empty());
  ASSERT_FALSE(decision.candidates.empty());
  EXPECT_LT(decision.candidates.front().scores.jaccard, 0.2);
  EXPECT_EQ(decision.similarity, decision.candidates.front().scores.semantic);
  EXPECT_EQ(
      test::DifferencesFromReplay(with.decider->pool(), "default", &with.embedder->calibration()),
      std::vector<std::string>());
}

TEST_F(DedupMeaning, TheStoreKeepsVectorsForOtherInstancesOfTheSameModel) {
  Instance first(url_, "knowing");
  Submit(*first.decider, "1", "one", kFirst);
  Instance second(url_, "knowing");
  const auto checked = second.decider->Check(NewDocument("2", "two", kRetold));
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->original_id, "1");
  EXPECT_EQ(second.model->calls, 1) << "of the first document the vector was read";
  Instance other(url_, "another");
  EXPECT_EQ(other.decider->Check(NewDocument("2", "two", kRetold))->verdict, Verdict::kUnique)
      << "vectors of another model are not compared";
}

TEST_F(DedupMeaning, WithTheEmbedderAwayTokensDecideAndItIsSaid) {
  Instance with(url_, "knowing");
  Submit(*with.decider, "1", "one", kFirst);
  with.model->is_broken = true;
  const Decision missed = Submit(*with.decider, "2", "two", kRetold);
  EXPECT_EQ(missed.verdict, Verdict::kUnique);
  EXPECT_EQ(missed.degradations, std::vector{Degradation::kEmbedder});
  EXPECT_TRUE(missed.recorded);
  for (int i = 0; i < Circuit::kFailures; ++i) {
    Submit(*with.decider, "more " + std::to_string(i), "one", test::StoryTitle(i));
  }
  EXPECT_TRUE(with.embedder->counts().is_down);
  const Decision exact = Submit(*with.decider, "3", "three", std::string("[속보] ") + kFirst);
  EXPECT_EQ(exact.stage, Stage::kExact) << "tokens still decide";
  EXPECT_EQ(exact.original_id, "1");
  EXPECT_NE(with.metrics.Render().find("winnow_dedup_embedder_down 1"), std::string::npos);
  with.model->is_broken = false;
  ASSERT_TRUE(test::Eventually([&] { return !with.embedder->counts().is_down; }));
  const Decision again = Submit(*with.decider, "4", "four", kToldLater);
  EXPECT_EQ(again.stage, Stage::kSemantic);
  EXPECT_EQ(again.original_id, "1");
  EXPECT_TRUE(again.degradations.empty());
  // What was missing is kept with the decision.
  const Decision stored = Submit(*with.decider, "2", "two", kRetold);
  EXPECT_EQ(stored.degradations, std::vector{Degradation::kEmbedder});
}

TEST_F(DedupMeaning, BulkKeepsItsOrderAndPassesThroughInBatches) {
  Instance with(url_, "knowing");
  std::vector<Document> documents;
  for (int i = 0; i < 100; ++i) {
    documents.push_back(NewDocument(std::to_string(i), "one", test::StoryTitle(i)));
  }
  documents.push_back(NewDocument("first", "one", kFirst));
  documents.push_back(NewDocument("retold", "two", kRetold));
  const auto decisions = with.decider->Submit(documents);
  ASSERT_TRUE(decisions.back().ok()) << decisions.back().status();
  EXPECT_EQ(decisions.back()->original_id, "first");
  EXPECT_LT(with.model->calls, 20);
  pg::Pool& pool = with.decider->pool();
  EXPECT_EQ(test::QueryNumber(pool,
                              "SELECT count(*) FROM dedup.entries WHERE vector IS NOT NULL"
                              " AND vector_model = 'knowing'"),
            102);
  EXPECT_EQ(test::QueryNumber(
                pool, "SELECT count(*) FROM dedup.entries WHERE document_id = (seq - 1)::text"),
            100);
}

}  // namespace
}  // namespace winnow::dedup
