#include <gmock/gmock.h>

#include <chrono>
#include <future>

#include "services/dedup/decide/decision_waiter.h"
#include "tests/support/collector/collector.h"
#include "tests/support/dedup/dedup.h"
#include "tests/support/sync/eventually.h"

namespace winnow::dedup {
namespace {

using test::DedupInstance;
using test::NewDocument;

std::string Story(int number) { return test::StoryTitle(number); }
// The same in other words, as newsrooms go.
std::string Retold(int number) { return "[속보] " + Story(number) + "…"; }

class DedupWorker : public ::testing::Test {
 protected:
  const std::string url_ = test::NewDedupDatabase();
};

TEST_F(DedupWorker, TheFirstArrivalIsTheOriginal) {
  DedupInstance instance(url_);
  const auto first = instance.SubmitOne(NewDocument("a", "one", Story(1)));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->verdict, Verdict::kUnique);
  EXPECT_TRUE(first->recorded);
  const auto second = instance.SubmitOne(NewDocument("b", "two", Retold(1)));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->verdict, Verdict::kDuplicate);
  EXPECT_EQ(second->original_id, "a");
  EXPECT_EQ(second->stage, Stage::kExact);
  ASSERT_EQ(second->candidates.size(), 1U);
  EXPECT_EQ(second->candidates[0].document_id, "a");
  EXPECT_EQ(second->candidates[0].channel, "one");
  EXPECT_GE(second->arrival_time, first->arrival_time);
}

TEST_F(DedupWorker, ADocumentSubmittedAgainKeepsItsFirstDecision) {
  DedupInstance instance(url_);
  ASSERT_TRUE(instance.SubmitOne(NewDocument("a", "one", Story(1))).ok());
  const auto before = instance.SubmitOne(NewDocument("b", "two", Story(1)));
  const auto after = instance.SubmitOne(NewDocument("b", "three", "아주 다른 이야기를 하는 글"));
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(after->original_id, "a");
  EXPECT_EQ(after->channel, "two");
  EXPECT_EQ(after->decide_time, before->decide_time);
  ASSERT_EQ(after->candidates.size(), 1U);
  EXPECT_EQ(test::QueryNumber(instance.pool(), "SELECT count(*) FROM dedup.entries"), 2);
}

TEST_F(DedupWorker, AnIdTwiceInOneBatchIsOneDocument) {
  DedupInstance instance(url_);
  const auto decisions =
      instance.Submit({NewDocument("a", "one", Story(1)), NewDocument("a", "two", Story(2)),
                       NewDocument("b", "two", Story(1))});
  ASSERT_TRUE(decisions[0].ok() && decisions[1].ok() && decisions[2].ok());
  EXPECT_EQ(decisions[1]->channel, "one");
  EXPECT_EQ(decisions[2]->original_id, "a");
  EXPECT_EQ(test::QueryNumber(instance.pool(), "SELECT head FROM dedup.log_streams"), 2);
}

TEST_F(DedupWorker, TheFirstOfABatchAreDecidedWhileTheRestIsPrepared) {
  DedupInstance instance(url_);
  DecisionWaiter decisions(instance.worker());
  const auto add = [&](int first, int last) {
    for (int i = first; i < last; ++i) {
      decisions.Add(
          instance.JobOf(NewDocument(std::to_string(i), std::to_string(i), Story(i / 2))));
    }
  };
  add(0, 299);
  EXPECT_TRUE(test::Eventually([&] {
    return test::QueryNumber(instance.pool(), "SELECT count(*) FROM dedup.decisions") >= 100;
  })) << "nobody asked for a decision yet";
  add(299, 333);
  for (size_t i = 0; i < 333; ++i) {
    const auto decision = decisions.Take(i);
    ASSERT_TRUE(decision.ok()) << decision.status();
    EXPECT_EQ(decision->document_id, std::to_string(i));
    EXPECT_EQ(decision->original_id, i % 2 == 0 ? "" : std::to_string(i - 1));
  }
  EXPECT_EQ(test::QueryNumber(instance.pool(),
                              "SELECT count(*) FROM dedup.entries WHERE document_id ="
                              " (seq - 1)::text"),
            333);
  EXPECT_THAT(test::DifferencesFromReplay(instance.pool(), "default"), ::testing::IsEmpty());
}

TEST_F(DedupWorker, DecisionsThatNobodyTakesAreWaitedFor) {
  DedupInstance instance(url_);
  {
    DecisionWaiter decisions(instance.worker());
    for (int i = 0; i < 128; ++i) {
      decisions.Add(instance.JobOf(NewDocument(std::to_string(i), "one", Story(i))));
    }
  }
  EXPECT_EQ(test::QueryNumber(instance.pool(), "SELECT count(*) FROM dedup.decisions"), 128);
}

TEST_F(DedupWorker, AStartedInstanceKnowsTheWindow) {
  {
    DedupInstance before(url_);
    ASSERT_TRUE(before.SubmitOne(NewDocument("a", "one", Story(1))).ok());
    ASSERT_TRUE(before.SubmitOne(NewDocument("b", "two", Story(1))).ok());
  }
  DedupInstance after(url_);
  EXPECT_TRUE(test::Eventually([&] { return after.documents_in_memory() == 2; }))
      << "loaded before anybody asks";
  const auto decision = after.SubmitOne(NewDocument("c", "two", Retold(1)));
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_EQ(decision->original_id, "a");
}

TEST_F(DedupWorker, ImportedTimesMoveTheWindow) {
  DedupInstance instance(url_);
  const Time start = std::chrono::sys_days(std::chrono::year(2020) / 3 / 1);
  const auto at = [&](const std::string& id, const std::string& channel, Micros after) {
    Document document = NewDocument(id, channel, Story(1));
    document.arrival_time = start + after;
    return instance.SubmitOne(document).value();
  };
  EXPECT_EQ(at("a", "one", Micros(0)).arrival_time, start);
  EXPECT_EQ(at("b", "two", std::chrono::hours(24)).original_id, "a") << "exactly a window old";
  EXPECT_EQ(at("c", "one", std::chrono::hours(48) + Micros(1)).verdict, Verdict::kUnique);
  // Time does not run backwards, and nothing arrives in the future.
  EXPECT_EQ(at("d", "three", std::chrono::hours(1)).arrival_time,
            start + std::chrono::hours(48) + Micros(1));
  const Time now = SystemClock().Now();
  EXPECT_LE(at("e", "four", std::chrono::hours(24 * 365'000)).arrival_time,
            now + std::chrono::minutes(5));
}

TEST_F(DedupWorker, ACheckDecidesAndForgets) {
  DedupInstance instance(url_);
  Document unknown = NewDocument("", "two", Retold(1));
  EXPECT_EQ(instance.Check(unknown)->verdict, Verdict::kUnique);
  ASSERT_TRUE(instance.SubmitOne(NewDocument("a", "one", Story(1))).ok());
  const auto checked = instance.Check(unknown);
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->original_id, "a");
  EXPECT_FALSE(checked->recorded);
  EXPECT_EQ(test::QueryNumber(instance.pool(), "SELECT count(*) FROM dedup.decisions"), 1);
  // A decided document gets its decision again, and is not found to repeat itself.
  const auto known = instance.Check(NewDocument("a", "one", Story(1)));
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(known->verdict, Verdict::kUnique);
  EXPECT_TRUE(known->recorded);
}

TEST_F(DedupWorker, ACheckSeesWhatAnotherInstanceDecided) {
  DedupInstance one(url_);
  DedupInstance two(url_);
  ASSERT_EQ(two.Check(NewDocument("", "two", Story(1)))->verdict, Verdict::kUnique);
  ASSERT_TRUE(one.SubmitOne(NewDocument("a", "one", Story(1))).ok());
  EXPECT_EQ(two.Check(NewDocument("", "two", Story(1)))->original_id, "a");
}

TEST_F(DedupWorker, NamespacesDoNotMeet) {
  DedupInstance instance(url_);
  Document other = NewDocument("a", "two", Story(1));
  other.ns = "other";
  ASSERT_TRUE(instance.SubmitOne(NewDocument("a", "one", Story(1))).ok());
  EXPECT_EQ(instance.SubmitOne(other)->verdict, Verdict::kUnique);
}

TEST_F(DedupWorker, ANamespaceBeginsWithTheConfiguredPolicyAndKeepsIt) {
  Policy narrow;
  narrow.token_threshold = 0.9;
  narrow.same_channel = true;
  {
    DedupInstance instance(url_, narrow);
    ASSERT_TRUE(instance.SubmitOne(NewDocument("a", "one", Story(1))).ok());
  }
  DedupInstance later(url_, Policy());
  const auto decision = later.SubmitOne(NewDocument("b", "one", Story(1)));
  ASSERT_TRUE(decision.ok());
  EXPECT_EQ(decision->original_id, "a") << "of the same channel";
  EXPECT_EQ(decision->policy_version, 1);
}

TEST_F(DedupWorker, ANewPolicyIsTakenOverByRunningInstances) {
  DedupInstance instance(url_);
  ASSERT_TRUE(instance.SubmitOne(NewDocument("a", "one", Story(1))).ok());
  for (const char* change :
       {"same_channel = true, version = 2", "candidate_floor = 0.3, version = 3",
        "window_us = window_us * 2, version = 4"}) {
    test::RunSql(instance.pool(), std::string("UPDATE dedup.policies SET ") + change);
    const auto decision = instance.SubmitOne(NewDocument(change, "one", Story(1)));
    ASSERT_TRUE(decision.ok()) << decision.status();
    EXPECT_EQ(decision->original_id, "a");
  }
  EXPECT_EQ(instance.SubmitOne(NewDocument("b", "one", Story(1)))->policy_version, 4);
}

// Each is compared with what the channel rule admits, not with all that the channel said before.
TEST_F(DedupWorker, AChannelThatRepeatsOneTitleKeepsNobodyWaiting) {
  DedupInstance instance(url_);
  std::string title;
  for (int i = 0; title.size() + Story(i).size() < kMaxTitle; ++i) title += Story(i) + " ";
  std::vector<Document> documents;
  for (int i = 0; i < 1'000; ++i) documents.push_back(NewDocument(std::to_string(i), "one", title));
  const auto begun = std::chrono::steady_clock::now();
  auto repeated = std::async(std::launch::async, [&] { return instance.Submit(documents); });
  Document other = NewDocument("x", "one", Story(2));
  other.ns = "other";
  const auto reported = instance.SubmitOne(other);
  ASSERT_TRUE(reported.ok()) << reported.status();
  EXPECT_EQ(reported->verdict, Verdict::kUnique);
  for (const auto& decision : repeated.get()) {
    ASSERT_TRUE(decision.ok()) << decision.status();
    EXPECT_EQ(decision->verdict, Verdict::kUnique);
    for (const Candidate& candidate : decision->candidates) {
      EXPECT_EQ(candidate.guards, std::vector{Guard::kSameChannel});
    }
  }
  EXPECT_EQ(instance.SubmitOne(NewDocument("y", "two", title))->original_id, "0");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(60));
  EXPECT_THAT(test::DifferencesFromReplay(instance.pool(), "default"), ::testing::IsEmpty());
}

TEST_F(DedupWorker, WhatDoesNotFitIntoOneTransactionIsDecidedInTheNext) {
  DedupInstance instance(url_, {}, 4'000'000, nullptr, {.enough = std::chrono::milliseconds(0)});
  std::vector<Document> documents;
  for (int i = 0; i < 20; ++i) {
    documents.push_back(NewDocument(std::to_string(i), std::to_string(i), Story(i / 2)));
  }
  const auto decisions = instance.Submit(documents);
  for (size_t i = 0; i < decisions.size(); ++i) {
    ASSERT_TRUE(decisions[i].ok()) << decisions[i].status();
    EXPECT_EQ(decisions[i]->original_id, i % 2 == 0 ? "" : std::to_string(i - 1));
  }
  EXPECT_EQ(test::QueryNumber(instance.pool(), "SELECT head FROM dedup.log_streams"), 20);
  EXPECT_THAT(test::DifferencesFromReplay(instance.pool(), "default"), ::testing::IsEmpty());
}

TEST_F(DedupWorker, ADocumentThatTakesTooLongAloneIsGivenUpAndTold) {
  DedupInstance instance(url_, {}, 4'000'000, nullptr, {.most = std::chrono::milliseconds(-1)});
  std::vector<Document> documents;
  for (int i = 0; i < 5; ++i) documents.push_back(NewDocument(std::to_string(i), "one", Story(i)));
  for (const auto& decision : instance.Submit(documents)) {
    EXPECT_EQ(decision.status().code(), StatusCode::kInternal);
  }
  const std::string metrics = instance.RenderMetrics();
  EXPECT_THAT(metrics, ::testing::HasSubstr("winnow_dedup_undecidable_total 5"));
  EXPECT_THAT(metrics, ::testing::HasSubstr("winnow_dedup_retries_total{what=\"slow\"} 2"))
      << "halved before that";
  EXPECT_EQ(test::QueryNumber(instance.pool(), "SELECT count(*) FROM dedup.entries"), 0);
}

TEST_F(DedupWorker, AWindowThatIsTooLargeIsShortened) {
  DedupInstance instance(url_, {}, 1'200);
  std::vector<Document> documents;
  for (int i = 0; i < 2'500; ++i) {
    documents.push_back(NewDocument(std::to_string(i), "one", Story(i)));
  }
  for (const auto& decision : instance.Submit(documents)) ASSERT_TRUE(decision.ok());
  EXPECT_LE(instance.documents_in_memory(), 1'200);
  EXPECT_GE(instance.documents_in_memory(), 500);
  EXPECT_EQ(instance.SubmitOne(NewDocument("late", "two", Story(2'499)))->original_id, "2499");
  EXPECT_EQ(instance.SubmitOne(NewDocument("early", "two", Story(0)))->verdict, Verdict::kUnique);
}

}  // namespace
}  // namespace winnow::dedup
