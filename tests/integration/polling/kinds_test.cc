#include "services/polling/api/handlers.h"
#include "services/polling/leases/sweep_worker.h"
#include "tests/integration/polling/fixture.h"

// Sweeps, rules at run time, pauses, operators' verbs, by a clock that the test sets.
namespace winnow::polling {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class PollingKindsTest : public PollingTest {
 protected:
  static rpc::CallContext Call() { return rpc::BackgroundCall(seconds(60)); }

  template <class Request, class Response>
  Response Do(StatusOr<Response> (Handlers::*handler)(const rpc::CallContext&, const Request&),
              const Request& request) {
    auto response = (handlers_.*handler)(Call(), request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? *response : Response();
  }
  template <class Request, class Response>
  Status Refused(StatusOr<Response> (Handlers::*handler)(const rpc::CallContext&, const Request&),
                 const Request& request) {
    return (handlers_.*handler)(Call(), request).status();
  }

  Status Command(const Job& job, const polling::Command& command) {
    return store_.Do(Soon(), job.key, command, "").status();
  }
  void SweepAll() {
    const Status swept = worker_.SweepAll();
    ASSERT_TRUE(swept.ok()) << swept;
  }
  void SetDeadline(seconds deadline, const std::string& etag = "") {
    v1::UpdatePolicyRequest request;
    request.set_kind("stt");
    request.mutable_policy()->mutable_deadline()->set_seconds(deadline.count());
    request.mutable_policy()->set_etag(etag);
    request.mutable_update_mask()->add_paths("deadline");
    request.set_actor("mina");
    request.set_note("the provider got slower");
    Do(&Handlers::UpdatePolicy, request);
  }
  v1::PreviewPolicyResponse Preview(seconds deadline) {
    v1::PreviewPolicyRequest request;
    request.set_kind("stt");
    request.mutable_policy()->mutable_deadline()->set_seconds(deadline.count());
    request.mutable_update_mask()->add_paths("deadline");
    return Do(&Handlers::PreviewPolicy, request);
  }

  JobMetrics job_metrics_{metrics_};
  ClaimWorker claims_{store_, job_metrics_};
  JobWatch watch_{store_};
  SweepWorker worker_{store_, claims_, job_metrics_, {}};
  Handlers handlers_{store_, claims_, watch_, job_metrics_};
};

TEST_F(PollingKindsTest, ALiveJobThatReportsIsNotSweptHoweverOldItIs) {
  Register("1");
  const Job job = Claim("w")[0];
  for (int i = 0; i < 59; ++i) {
    Pass(minutes(1));
    if (i % 9 == 8) {
      ASSERT_TRUE(Command(job, command::Progress{job.token, i, ""}).ok());
    }
    // Two sweeps a minute: before the lease ends, and after it was extended.
    const HeldJob held{"1", job.token};
    ASSERT_TRUE(store_.Heartbeat(Soon(), "stt", {&held, 1}).ok());
    SweepAll();
  }
  EXPECT_EQ(Get("1").phase, Phase::kLeased);
  Pass(minutes(10));  // past 60 minutes in its state, and the sweep_interval
  SweepAll();
  EXPECT_EQ(Get("1").phase, Phase::kBuried);
  EXPECT_EQ(Get("1").reason, StaleReason::kDeadline);
}

TEST_F(PollingKindsTest, HeartbeatsWithoutProgressAreNotEnough) {
  Sql("UPDATE polling.policies SET lease_us = 3600000000");
  Register("1");
  Claim("w");
  Pass(minutes(9));
  SweepAll();
  EXPECT_EQ(Get("1").phase, Phase::kLeased);
  Pass(minutes(10));
  SweepAll();
  const Job job = Get("1");
  EXPECT_EQ(job.phase, Phase::kWaiting);
  EXPECT_EQ(job.losses, 1);
  const auto events = store_.ListEvents(Soon(), job.key, 0, 10);
  ASSERT_TRUE(events.ok());
  EXPECT_EQ(events->back().event.reason, StaleReason::kNoProgress);
  EXPECT_EQ(Number("SELECT count(*) FROM polling.outbox"), 1);
}

TEST_F(PollingKindsTest, ALostLeaseIsSweptAtOnceAndThreeOfThemArePoison) {
  Register("1");
  for (int i = 1; i <= 3; ++i) {
    ASSERT_THAT(Claim("w"), SizeIs(1));
    Pass(seconds(31));
    SweepAll();
    EXPECT_EQ(Get("1").losses, i);
  }
  EXPECT_EQ(Get("1").phase, Phase::kBuried);
  EXPECT_EQ(Get("1").reason, StaleReason::kPoison);
  EXPECT_THAT(Claim("w"), IsEmpty());
  EXPECT_THAT(metrics_.Render(),
              testing::HasSubstr("winnow_polling_swept_total{kind=\"stt\",reason=\"poison\","
                                 "state=\"processing\"} 1"));
}

TEST_F(PollingKindsTest, APreviewNamesExactlyWhatTheSweepThenTakes) {
  for (const char* id : {"a", "b"}) Register(id);
  Pass(minutes(20));
  Register("c");
  Pass(minutes(15));
  EXPECT_EQ(Preview(minutes(40)).would_sweep_count(), 0);
  const v1::PreviewPolicyResponse preview = Preview(minutes(30));
  EXPECT_EQ(preview.would_sweep_count(), 2);
  EXPECT_EQ(preview.would_sweep_unchanged_count(), 0);
  ASSERT_THAT(preview.sweeps(), SizeIs(1));
  EXPECT_EQ(preview.sweeps(0).reason(), v1::STALE_REASON_DEADLINE);
  EXPECT_THAT(preview.sweeps(0).ids(), ElementsAre("a", "b"));
  EXPECT_EQ(Get("a").phase, Phase::kWaiting) << "a preview changes nothing";
  SetDeadline(minutes(30));
  SweepAll();
  for (const char* id : {"a", "b"}) EXPECT_EQ(Get(id).phase, Phase::kBuried) << id;
  EXPECT_EQ(Get("c").phase, Phase::kWaiting);
}

TEST_F(PollingKindsTest, PoliciesAreVersionedAuditedAndGuardedByEtag) {
  SetDeadline(minutes(30), "1");
  v1::UpdatePolicyRequest request;
  request.set_kind("stt");
  request.mutable_policy()->mutable_deadline()->set_seconds(60);
  request.mutable_policy()->set_etag("1");
  request.mutable_update_mask()->add_paths("deadline");
  EXPECT_EQ(ReasonOf(Refused(&Handlers::UpdatePolicy, request)), Reason::kStaleEtag);
  v1::GetPolicyRequest get;
  get.set_kind("stt");
  EXPECT_EQ(Do(&Handlers::GetPolicy, get).policy().version(), 2);
  EXPECT_EQ(Do(&Handlers::GetPolicy, get).policy().actor(), "mina");
  get.set_version(1);
  EXPECT_EQ(Do(&Handlers::GetPolicy, get).policy().deadline().seconds(), 3600);
  EXPECT_EQ(Number("SELECT count(*) FROM polling.audit_entries WHERE action = 'policy' "
                   "AND actor = 'mina' AND after LIKE '%deadline=1800s%'"),
            1);
}

TEST_F(PollingKindsTest, AKindIsMadeWithDefaultsAndItsRulesAreChecked) {
  v1::UpdatePolicyRequest request;
  request.set_kind("llm-batch");
  request.mutable_policy()->add_states("running");
  request.mutable_policy()->mutable_lease()->set_seconds(100'000);
  request.mutable_policy()->set_max_losses(-1);
  const Status refused = Refused(&Handlers::UpdatePolicy, request);
  std::vector<std::string> fields;
  for (const Violation& violation : ViolationsOf(refused)) fields.push_back(violation.field);
  EXPECT_THAT(fields, testing::UnorderedElementsAre("policy.lease", "policy.no_progress",
                                                    "policy.max_losses"));
  request.mutable_policy()->clear_lease();
  request.mutable_policy()->clear_max_losses();
  const v1::Policy made = Do(&Handlers::UpdatePolicy, request).policy();
  EXPECT_EQ(made.version(), 1);
  EXPECT_EQ(made.deadline().seconds(), 3600);
  EXPECT_EQ(made.max_attempts(), 20);
  const NewJob job{"1", "", "", {}};
  ASSERT_TRUE(store_.Register(Soon(), "llm-batch", {&job, 1}, "").ok());
  // A state in which a job is in flight stays.
  request.mutable_policy()->set_states(0, "other");
  EXPECT_EQ(Refused(&Handlers::UpdatePolicy, request).code(), StatusCode::kFailedPrecondition);
}

TEST_F(PollingKindsTest, APauseFreezesTheKindsClocksButNotLeases) {
  Register("1");
  Register("2");
  Claim("w");
  v1::PauseKindRequest pause;
  pause.set_kind("stt");
  Do(&Handlers::PauseKind, pause);
  EXPECT_THAT(Claim("w"), IsEmpty());
  Pass(minutes(300));
  SweepAll();
  EXPECT_EQ(Get("1").phase, Phase::kWaiting) << "its lease was lost";
  EXPECT_EQ(Get("2").phase, Phase::kWaiting) << "no deadline passed";
  v1::ResumeKindRequest resume;
  resume.set_kind("stt");
  EXPECT_EQ(Do(&Handlers::ResumeKind, resume).total_paused().seconds(), 300 * 60);
  Pass(minutes(59));
  SweepAll();
  EXPECT_EQ(Get("2").phase, Phase::kWaiting);
  Pass(minutes(10));
  SweepAll();
  EXPECT_EQ(Get("2").reason, StaleReason::kDeadline);
}

TEST_F(PollingKindsTest, KicksBuriedJobsByReasonOldestFirst) {
  for (const char* id : {"a", "b", "c"}) Register(id);
  ASSERT_TRUE(Command(Get("c"), command::Bury{"by hand"}).ok());
  Pass(minutes(61));
  SweepAll();
  v1::KickJobsRequest request;
  request.set_kind("stt");
  request.set_reason(v1::STALE_REASON_DEADLINE);
  request.set_max_jobs(1);
  EXPECT_THAT(Do(&Handlers::KickJobs, request).ids(), ElementsAre("a"));
  request.set_max_jobs(0);
  EXPECT_THAT(Do(&Handlers::KickJobs, request).ids(), ElementsAre("b"));
  EXPECT_EQ(Get("c").phase, Phase::kBuried);
  // As the machine does it, with the whole deadline again.
  const Job job = Get("a");
  EXPECT_EQ(job.phase, Phase::kWaiting);
  EXPECT_EQ(job.entered, now_);
  EXPECT_EQ(job.reason, StaleReason::kNone);
  Pass(minutes(59));
  SweepAll();
  EXPECT_EQ(Get("a").phase, Phase::kWaiting);
}

TEST_F(PollingKindsTest, PurgesEndedJobsOnlyAndADryRunTellsWhichFirst) {
  for (const char* id : {"a", "b", "c"}) Register(id);
  for (const Job& job : Claim("w", 2)) {
    ASSERT_TRUE(Command(job, command::Complete{job.token, ""}).ok());
  }
  Pass(minutes(10));
  v1::PurgeJobsRequest request;
  request.set_kind("stt");
  EXPECT_EQ(Refused(&Handlers::PurgeJobs, request).code(), StatusCode::kInvalidArgument);
  request.mutable_min_age()->set_seconds(900);
  EXPECT_EQ(Do(&Handlers::PurgeJobs, request).purged_count(), 0);
  request.mutable_min_age()->set_seconds(600);
  request.set_dry_run(true);
  EXPECT_THAT(Do(&Handlers::PurgeJobs, request).ids(), ElementsAre("a", "b"));
  EXPECT_EQ(Get("a").phase, Phase::kCompleted);
  request.set_dry_run(false);
  EXPECT_THAT(Do(&Handlers::PurgeJobs, request).ids(), ElementsAre("a", "b"));
  EXPECT_EQ(Number("SELECT count(*) FROM polling.jobs"), 1);
  EXPECT_EQ(Number("SELECT count(*) FROM polling.job_events WHERE id IN ('a', 'b')"), 0);
  // Registered anew, its token goes on growing: a zombie of before is still refused.
  Register("a");
  EXPECT_GT(Claim("w", 2)[1].token, 2);
}

TEST_F(PollingKindsTest, OperatorsVerbsSentAgainAnswerWhatTheyDid) {
  for (const char* id : {"a", "b", "c"}) {
    Register(id);
    ASSERT_TRUE(Command(Get(id), command::Bury{"by hand"}).ok());
  }
  v1::KickJobsRequest kick;
  kick.set_kind("stt");
  kick.set_max_jobs(2);
  kick.set_request_id("monday");
  for (int i = 0; i < 2; ++i) {
    const v1::KickJobsResponse kicked = Do(&Handlers::KickJobs, kick);
    EXPECT_EQ(kicked.kicked_count(), 2);
    EXPECT_THAT(kicked.ids(), ElementsAre("a", "b"));
  }
  EXPECT_EQ(Get("c").phase, Phase::kBuried);
  v1::PurgeJobsRequest purge;
  purge.set_kind("stt");
  purge.mutable_min_age();
  purge.add_phases(v1::JOB_PHASE_BURIED);
  purge.set_request_id("monday");  // of another method
  for (int i = 0; i < 2; ++i) {
    const v1::PurgeJobsResponse purged = Do(&Handlers::PurgeJobs, purge);
    EXPECT_EQ(purged.purged_count(), 1);
    EXPECT_THAT(purged.ids(), ElementsAre("c"));
  }
  EXPECT_EQ(Number("SELECT count(*) FROM polling.audit_entries"), 2);
  kick.set_request_id(std::string(129, 'x'));
  EXPECT_EQ(Refused(&Handlers::KickJobs, kick).code(), StatusCode::kInvalidArgument);
}

TEST_F(PollingKindsTest, EndedJobsGoWhenTheirRetentionIsOverAndBuriedOnesStay) {
  for (const char* id : {"done", "buried", "later"}) Register(id);
  const Job job = Claim("w")[0];  // "buried", the first by id
  ASSERT_TRUE(Command(job, command::Bury{""}).ok());
  ASSERT_TRUE(Command(Get("done"), command::Cancel{std::nullopt, ""}).ok());
  v1::UpdatePolicyRequest request;
  request.set_kind("stt");
  request.mutable_policy()->mutable_retention()->set_seconds(60);
  request.mutable_update_mask()->add_paths("retention");
  EXPECT_EQ(Refused(&Handlers::UpdatePolicy, request).code(), StatusCode::kInvalidArgument);
  request.mutable_policy()->mutable_retention()->set_seconds(7200);
  EXPECT_EQ(Do(&Handlers::UpdatePolicy, request).policy().retention().seconds(), 7200);
  Pass(minutes(119));
  SweepAll();
  EXPECT_EQ(Get("done").phase, Phase::kCancelled);
  ASSERT_TRUE(Command(Get("later"), command::Requeue{}).ok());  // its deadline buried it
  ASSERT_TRUE(Command(Get("later"), command::Cancel{std::nullopt, ""}).ok());
  Pass(minutes(11));  // the kind's sweep_interval, too
  SweepAll();
  EXPECT_EQ(Number("SELECT count(*) FROM polling.jobs WHERE id = 'done'"), 0);
  EXPECT_EQ(Number("SELECT count(*) FROM polling.job_events WHERE id = 'done'"), 0);
  EXPECT_EQ(Get("buried").phase, Phase::kBuried);
  EXPECT_EQ(Get("later").phase, Phase::kCancelled);
  EXPECT_THAT(metrics_.Render(), HasSubstr("winnow_polling_expired_total{kind=\"stt\"} 1"));
}

TEST_F(PollingKindsTest, CountsByStateAndPhase) {
  Register("a");
  Register("b");
  Claim("w");
  Pass(seconds(20));
  v1::GetStatsRequest request;
  const v1::GetStatsResponse stats = Do(&Handlers::GetStats, request);
  ASSERT_THAT(stats.kinds(), SizeIs(1));
  ASSERT_THAT(stats.kinds(0).counts(), SizeIs(2));
  EXPECT_EQ(stats.kinds(0).counts(0).phase(), v1::JOB_PHASE_WAITING);
  EXPECT_EQ(stats.kinds(0).counts(0).count(), 1);
  EXPECT_EQ(stats.kinds(0).counts(0).oldest_age().seconds(), 20);
  EXPECT_EQ(stats.kinds(0).due_lag().seconds(), 20);
}

}  // namespace
}  // namespace winnow::polling
