#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/collector/sources/schedule.h"

namespace winnow::collector {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::UnorderedElementsAre;

Source Feed() {
  Source source;
  source.id = "outlet";
  source.kind = SourceKind::kFeed;
  source.url = "https://outlet.example/rss";
  return source;
}

std::vector<std::string> Refused(Source source) {
  Violations violations;
  AcceptSource(source, "source", violations);
  std::vector<std::string> fields;
  for (const Violation& violation : violations.all()) fields.push_back(violation.field);
  return fields;
}

Source Accepted(Source source) {
  Violations violations;
  AcceptSource(source, "source", violations);
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
  source.current_interval = source.interval;
  return source;
}

TEST(Sources, DefaultsAreFilledIn) {
  const Source feed = Accepted(Feed());
  EXPECT_EQ(feed.ns, "default");
  EXPECT_EQ(feed.interval, seconds(300));
  EXPECT_EQ(feed.max_interval, hours(24));
  Source naver;
  naver.id = "climate";
  naver.kind = SourceKind::kNaver;
  naver.credential = "naver";
  naver.query = "기후";
  EXPECT_EQ(Accepted(naver).interval, seconds(300));
  EXPECT_EQ(Accepted(naver).page_size, 100);
  naver.kind = SourceKind::kNewsData;
  EXPECT_EQ(Accepted(naver).interval, seconds(1'800));
  EXPECT_EQ(Accepted(naver).page_size, 10);
}

TEST(Sources, AllReasonsAreToldAtOnce) {
  Source source;
  source.id = "No Id";
  source.ns = "No Namespace";
  source.kind = SourceKind::kNaver;
  source.page_size = 101;
  source.max_pages = 11;
  source.interval = seconds(59);
  source.categories = {"a", "a"};
  EXPECT_THAT(
      Refused(source),
      UnorderedElementsAre("source.id", "source.namespace", "source.naver.credential",
                           "source.naver.query", "source.naver.page_size", "source.naver.max_pages",
                           "source.interval", "source.categories"));
  Source feed = Feed();
  feed.url = "file:///etc/passwd";
  EXPECT_THAT(Refused(feed), UnorderedElementsAre("source.feed.url"));
  EXPECT_THAT(Refused(Source()), UnorderedElementsAre("source.id", "source.kind"));
}

TEST(Sources, AnImportedFeedHasOneIdForItsAddress) {
  EXPECT_EQ(FeedSourceId("https://a.example/"), FeedSourceId("https://a.example/"));
  EXPECT_NE(FeedSourceId("https://a.example/"), FeedSourceId("https://b.example/"));
  EXPECT_EQ(FeedSourceId("x").size(), 37U);
}

TEST(Schedule, AFeedComesSoonerWhileItBringsSomething) {
  Source feed = Accepted(Feed());
  seconds waited{0};
  for (int i = 0; i < 30; ++i) {
    const NextRun next = PlanNext(feed, {.outcome = Outcome::kOk, .new_items = 0});
    EXPECT_GE(next.interval, feed.current_interval);
    feed.current_interval = next.interval;
    waited = next.wait;
  }
  EXPECT_EQ(waited, hours(24));
  for (int i = 0; i < 30; ++i) {
    feed.current_interval = PlanNext(feed, {.outcome = Outcome::kOk, .new_items = 3}).interval;
  }
  EXPECT_EQ(feed.current_interval, seconds(300));
}

TEST(Schedule, FailuresWaitLongerAndLonger) {
  Source feed = Accepted(Feed());
  feed.max_interval = feed.interval;
  seconds last{0};
  for (int i = 0; i < 20; ++i) {
    const NextRun next = PlanNext(feed, {.outcome = Outcome::kUpstream});
    EXPECT_GE(next.wait, last);
    EXPECT_FALSE(next.blocked);
    last = next.wait;
    feed.failures = next.failures;
  }
  EXPECT_EQ(last, hours(6));
  EXPECT_EQ(PlanNext(feed, {.outcome = Outcome::kOk}).failures, 0);
}

TEST(Schedule, WhatIsRefusedForGoodRunsNoMore) {
  EXPECT_TRUE(
      PlanNext(Accepted(Feed()), {.outcome = Outcome::kBlocked, .permanent = true}).blocked);
}

TEST(Schedule, AUsedUpQuotaIsWaitedFor) {
  const NextRun next =
      PlanNext(Accepted(Feed()), {.outcome = Outcome::kQuotaDay, .wait = hours(9)});
  EXPECT_EQ(next.wait, hours(9));
  EXPECT_EQ(next.failures, 0);
}

}  // namespace
}  // namespace winnow::collector
