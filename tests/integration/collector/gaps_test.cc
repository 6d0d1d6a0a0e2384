#include <gmock/gmock.h>

#include <atomic>

#include "services/collector/sources/source_store.h"
#include "services/platform/base/uuid.h"
#include "tests/integration/collector/runs_fixture.h"

// Reading stops at a page of known items. Whatever ends a run before its end must not make the next
// one stop there: the pages behind would never be read.
namespace winnow::collector {
namespace {

using EndedRun = Run;  // a fixture has a Run of its own

class CollectorGaps : public CollectorRuns {
 protected:
  static v1::Source Deep(int pages = 3) {
    v1::Source source = Naver("deep");
    source.mutable_naver()->set_max_pages(pages);
    return source;
  }
  // The next request for the page that begins at `start` is answered so.
  static void ScriptAt(test::FakeNaver& naver, const std::string& start,
                       const test::FakeAnswer& answer) {
    naver.Watch([&naver, start, answer,
                 once = std::make_shared<std::atomic<bool>>(true)](const auto& request) {
      if (request.query.at("start") == start && once->exchange(false)) naver.Script(answer);
    });
  }
  void StartWith(test::FakeNaver& naver) {
    AddCredential("naver", naver.server().Url("/v1/search/news.json"));
    Start();
  }
};

TEST_F(CollectorGaps, PagesBehindOneThatFailedAreReadByTheNextRun) {
  test::FakeNaver naver(250);
  ScriptAt(naver, "101", {500, test::FakeNaver::Error("SE99"), {}, {}});
  StartWith(naver);
  replica_->Create(Deep());
  const v1::Run first = replica_->Runs("deep", 1)[0];
  EXPECT_EQ(first.outcome(), v1::RUN_OUTCOME_PARTIAL);
  EXPECT_EQ(first.new_items(), 100);
  EXPECT_TRUE(replica_->Get("deep").unread_pages());
  const v1::Run second = replica_->RunNow("deep");
  EXPECT_EQ(second.outcome(), v1::RUN_OUTCOME_OK);
  EXPECT_EQ(second.new_items(), 150);
  EXPECT_FALSE(replica_->Get("deep").unread_pages());
  // From then on a page of known items is the end again.
  EXPECT_EQ(replica_->RunNow("deep").calls(), 1);
}

TEST_F(CollectorGaps, AFailureBeforeAnyPageChangesNothing) {
  test::FakeNaver naver(150);
  StartWith(naver);
  replica_->Create(Deep());
  EXPECT_EQ(replica_->Runs("deep", 1)[0].new_items(), 150);
  naver.Script({500, test::FakeNaver::Error("SE99"), {}, {}});
  EXPECT_EQ(replica_->RunNow("deep").outcome(), v1::RUN_OUTCOME_UPSTREAM);
  EXPECT_FALSE(replica_->Get("deep").unread_pages());
  EXPECT_EQ(replica_->RunNow("deep").calls(), 1);
}

TEST_F(CollectorGaps, AQuotaThatEndsBetweenPagesLeavesTheRestToTheNextRun) {
  test::FakeNaver naver(150);
  ScriptAt(naver, "101", {429, test::FakeNaver::Error("010"), {}, {}});
  StartWith(naver);
  replica_->Create(Deep());
  EXPECT_EQ(replica_->Runs("deep", 1)[0].outcome(), v1::RUN_OUTCOME_QUOTA_DAY);
  EXPECT_TRUE(replica_->Get("deep").unread_pages());
}

TEST_F(CollectorGaps, NewsDatasPagesBehindOneThatFailedAreReadByTheNextRun) {
  test::FakeNewsData newsdata(3, 10);
  newsdata.Watch([&, once = std::make_shared<std::atomic<bool>>(true)](const auto& request) {
    if (request.query.contains("page") && once->exchange(false)) newsdata.Script({500, "", {}, {}});
  });
  AddCredential("newsdata", newsdata.server().Url("/api/1/latest"));
  Start();
  v1::Source source;
  source.set_id("data");
  source.mutable_newsdata()->set_credential("newsdata");
  source.mutable_newsdata()->set_max_pages(5);
  replica_->Create(source);
  EXPECT_EQ(replica_->Runs("data", 1)[0].outcome(), v1::RUN_OUTCOME_PARTIAL);
  const v1::Run second = replica_->RunNow("data");
  EXPECT_EQ(second.new_items(), 20);
  EXPECT_EQ(second.known_items(), 10);
  EXPECT_EQ(replica_->RunNow("data").calls(), 1);
}

TEST_F(CollectorGaps, WhatAStopCutShortIsReadByWhoeverGoesOn) {
  test::FakeNaver naver(150);
  std::atomic<bool> asked = false;
  naver.Watch([&](const test::FakeRequest& request) {
    if (request.query.at("start") != "101" || asked.exchange(true)) return;
    naver.Script({200, std::string(1'000, ' '), {}, {}, 4, false, true});  // never whole
  });
  StartWith(naver);
  replica_->Create(Deep());
  ASSERT_TRUE(test::Eventually([&] { return asked.load(); }));
  replica_->Stop();  // gives up the body that does not come
  Start();
  const std::vector<v1::Run> runs = replica_->Runs("deep", 2);
  EXPECT_EQ(runs[0].outcome(), v1::RUN_OUTCOME_PARTIAL);
  EXPECT_EQ(runs[0].code(), "stopped");
  EXPECT_EQ(runs[0].new_items(), 100);
  EXPECT_EQ(runs[1].new_items(), 50);
}

TEST_F(CollectorGaps, APageThatIsTheOneBeforeAfterAShiftIsNoEnd) {
  test::FakeNaver naver(250);
  naver.Watch([&, once = std::make_shared<std::atomic<bool>>(true)](const auto& request) {
    if (request.query.at("start") == "101" && once->exchange(false)) naver.Shift(100);
  });
  StartWith(naver);
  replica_->Create(Deep(4));
  // Pages 1, 1 again, 2 and what is left: 250; what came in while it read is the next run's.
  const v1::Run run = replica_->Runs("deep", 1)[0];
  EXPECT_EQ(run.new_items(), 250);
  EXPECT_EQ(run.calls(), 4);
  EXPECT_EQ(replica_->RunNow("deep").new_items(), 100);
}

TEST_F(CollectorGaps, MorePagesAreReadOnceTheyAreAllowed) {
  test::FakeNaver naver(250);
  StartWith(naver);
  replica_->Create(Deep(1));
  EXPECT_EQ(replica_->Runs("deep", 1)[0].new_items(), 100);
  replica_->Update(Deep(3), "naver");  // runs at once
  EXPECT_EQ(replica_->Runs("deep", 2)[1].new_items(), 150);
}

TEST_F(CollectorGaps, ByBestMatchAKnownPageIsNoEnd) {
  test::FakeNaver naver(250);
  StartWith(naver);
  v1::Source source = Deep();
  source.mutable_naver()->set_by_similarity(true);
  replica_->Create(source);
  EXPECT_EQ(replica_->Runs("deep", 1)[0].calls(), 3);
  EXPECT_EQ(replica_->RunNow("deep").calls(), 3);
}

TEST_F(CollectorGaps, WhatAnotherSourceStoredIsNoEndOfAFirstRun) {
  test::FakeNaver naver(150);
  StartWith(naver);
  replica_->Create(Naver("shallow"));
  EXPECT_EQ(replica_->Runs("shallow", 1)[0].new_items(), 100);
  replica_->Create(Deep());
  const v1::Run run = replica_->Runs("deep", 1)[0];
  EXPECT_EQ(run.known_items(), 100);
  EXPECT_EQ(run.new_items(), 50);
}

TEST_F(CollectorGaps, ABodyThatComesInPiecesIsTakenWholeAndOneThatIsCutIsNot) {
  test::FakeNaver naver(3);
  const std::string page =
      R"({"total":1,"start":1,"display":1,"items":[{"title":"Slow","originallink":"",)"
      R"("link":"http://outlet.example/slow","description":"","pubDate":""}]})";
  naver.Script({200, page, {}, std::chrono::milliseconds(20), 20, false, false});
  StartWith(naver);
  replica_->Create(Naver("slow"));
  EXPECT_EQ(replica_->Runs("slow", 1)[0].new_items(), 1);
  naver.Script({200, page, {}, std::chrono::milliseconds(1), 4, true, false});
  const v1::Run cut = replica_->RunNow("slow");
  EXPECT_EQ(cut.outcome(), v1::RUN_OUTCOME_UPSTREAM);
  EXPECT_EQ(cut.new_items(), 0);
}

// The store's part: runs whose process is gone, and one that was taken for it.
class UnreadPages : public CollectorGaps {
 protected:
  UnreadPages() {
    config_.set_no_schedule(true);
    Start();
    replica_->Create(Feed("one", "https://one.example/rss"));
    test::RunSql(pool_, "UPDATE collector.sources SET unread_pages = false");
  }
  static Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }
  Claim ClaimBy(const std::string& holder) {
    EXPECT_TRUE(sources_.TakeLease(Soon(), holder, std::chrono::seconds(60))->has_value());
    return sources_.ClaimDue(Soon(), holder, {NewUuidV7(SystemClock().Now())})->at(0);
  }
  bool Unread() { return sources_.Get(Soon(), "one")->unread_pages; }
  static EndedRun RunOf(const Claim& claim) {
    EndedRun run;
    run.id = claim.source.run_id;
    run.source_id = "one";
    run.ns = "default";
    run.kind = SourceKind::kFeed;
    run.outcome = Outcome::kOk;
    run.begin_time = run.end_time = claim.begin_time;
    return run;
  }

  const std::string first_ = NewUuidV7(SystemClock().Now());
  const std::string second_ = NewUuidV7(SystemClock().Now());
  Metrics metrics_;
  pg::Pool pool_{{.name = "test", .url = url_, .password = "", .connections = 2}, metrics_};
  SourceStore sources_{pool_, pool_};
};

TEST_F(UnreadPages, AreFearedOfARunWhoseProcessDied) {
  const Claim lost = ClaimBy(first_);
  EXPECT_FALSE(lost.source.unread_pages);
  ASSERT_TRUE(sources_.ReleaseLease(Soon(), first_).ok());
  ASSERT_EQ(sources_.EndLostRuns(Soon(), second_).value(), 1);
  EXPECT_TRUE(Unread());
  // The next one reaches the end; then the first wakes up, which may have stored a page meanwhile.
  Claim next = ClaimBy(second_);
  next.source.unread_pages = false;
  ASSERT_TRUE(sources_.EndRun(Soon(), next.source, RunOf(next), {}).value());
  EXPECT_FALSE(Unread());
  EXPECT_FALSE(sources_.EndRun(Soon(), lost.source, RunOf(lost), {}).value());
  EXPECT_TRUE(Unread());
}

TEST_F(UnreadPages, OfAChangeDuringARunAreNotSettledByItsEnd) {
  Claim claim = ClaimBy(first_);
  const auto update = sources_.Update(Soon(), "one", [](Source& source) {
    source.url = "https://two.example/rss";
    source.feed_etag.clear();
    return OkStatus();
  });
  ASSERT_TRUE(update.ok());
  claim.source.unread_pages = false;
  claim.source.feed_etag = "\"of the first address\"";
  ASSERT_TRUE(sources_.EndRun(Soon(), claim.source, RunOf(claim), {}).value());
  EXPECT_TRUE(Unread());
  EXPECT_EQ(sources_.Get(Soon(), "one")->feed_etag, "");
}

}  // namespace
}  // namespace winnow::collector
