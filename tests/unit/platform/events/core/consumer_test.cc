#include "services/platform/events/core/consumer.h"

#include <gtest/gtest.h>

#include "services/platform/base/uuid.h"
#include "services/platform/events/core/outbox.h"

namespace winnow::events {
namespace {

TEST(EventName, IsTheFullNameOfThePayload) {
  Envelope envelope;
  EXPECT_EQ(EventName(envelope), "");
  envelope.mutable_item_collected()->set_item_id("x");
  EXPECT_EQ(EventName(envelope), "winnow.events.v1.ItemCollected");
  envelope.mutable_duplicate_found();
  EXPECT_EQ(EventName(envelope), "winnow.events.v1.DuplicateFound");
}

TEST(EventName, OfANewerSchemaIsUnknown) {
  EXPECT_TRUE(IsKnownEvent("winnow.events.v1.ItemAccepted"));
  EXPECT_FALSE(IsKnownEvent("winnow.events.v1.ItemRetracted"));
  EXPECT_FALSE(IsKnownEvent("winnow.events.v1.Envelope"));
  EXPECT_FALSE(IsKnownEvent(""));
}

TEST(NewEnvelope, CarriesTimeNamespaceAndTrace) {
  const Time now = Time(std::chrono::microseconds(1'770'000'000'123'456));
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const Envelope envelope = NewEnvelope(now, "news", trace);
  EXPECT_TRUE(IsUuid(envelope.id()));
  EXPECT_EQ(envelope.occur_time().seconds(), 1'770'000'000);
  EXPECT_EQ(envelope.occur_time().nanos(), 123'456'000);
  EXPECT_EQ(envelope.namespace_(), "news");
  EXPECT_EQ(envelope.traceparent(), trace);
  EXPECT_NE(envelope.id(), NewEnvelope(now, "news", trace).id());
}

TEST(Verdict, WhatMayGoAwayComesAgainAndTheRestIsDead) {
  EXPECT_EQ(VerdictOf(OkStatus()), Verdict::kDone);
  EXPECT_EQ(VerdictOf(Unavailable(Reason::kStoreUnavailable, "x", std::chrono::seconds(1))),
            Verdict::kRetryLater);
  EXPECT_EQ(VerdictOf(Overloaded("x", std::chrono::seconds(1))), Verdict::kRetryLater);
  EXPECT_EQ(VerdictOf(Status(StatusCode::kCancelled, "x")), Verdict::kRetryLater);
  EXPECT_EQ(VerdictOf(Aborted(Reason::kWriteConflict, "x")), Verdict::kRetry);
  EXPECT_EQ(VerdictOf(DeadlineExceeded("x")), Verdict::kTimedOut);
  EXPECT_EQ(VerdictOf(Internal("x")), Verdict::kRetry);
  EXPECT_EQ(VerdictOf(Status(StatusCode::kPermissionDenied, "x")), Verdict::kRetry);
  for (const Status& status : {InvalidField("f", "x"), NotFound("item", "1"),
                               FailedPrecondition("x"), AlreadyExists("item", "1")}) {
    EXPECT_EQ(VerdictOf(status), Verdict::kDead) << status;
  }
}

TEST(OutboxDdl, NamesTheSchemaEverywhere) {
  const std::string ddl = OutboxDdl("dedup");
  EXPECT_NE(ddl.find("CREATE TABLE dedup.outbox ("), std::string::npos);
  EXPECT_NE(ddl.find("CREATE TABLE dedup.outbox_lease ("), std::string::npos);
  EXPECT_NE(ddl.find("CREATE TABLE dedup.dead_letters ("), std::string::npos);
  EXPECT_EQ(ddl.find('{'), std::string::npos);
}

}  // namespace
}  // namespace winnow::events
