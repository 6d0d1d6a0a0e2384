#include <atomic>
#include <future>
#include <thread>

#include "services/polling/leases/claim_worker.h"
#include "services/polling/leases/sweep_worker.h"
#include "tests/integration/polling/fixture.h"

// What happens at the same time, or twice.
namespace winnow::polling {
namespace {

using std::chrono::seconds;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::SizeIs;

class PollingRacesTest : public PollingTest {
 protected:
  StatusOr<Outcome> Do(const std::string& id, const Command& command, const std::string& request) {
    return store_.Do(Soon(), {"stt", id}, command, request);
  }
  StatusOr<PolicyVersion> Change(const std::string& kind, PolicyChange change) {
    return store_.UpdatePolicy(Soon(), {kind, std::nullopt, std::move(change), "mina", "", ""});
  }
  // Whether so many wait for locks in this database, of rows or of their own.
  bool AwaitLockWaits(int64_t count) {
    return test::Eventually([&] {
      return Number(
                 "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
                 "AND datname = current_database()") >= count;
    });
  }
  int64_t EventCount(const std::string& id) {
    return Number("SELECT count(*) FROM polling.job_events WHERE id = '" + id + "'");
  }

  // From summarizing to processing, which the default rules do not have.
  void AllowBack() {
    ASSERT_TRUE(Change("stt", [](Policy policy) {
                  policy.transitions.emplace_back("summarizing", "processing");
                  return policy;
                }).ok());
  }

  pg::Pool holder_{{.name = "holder", .url = url_, .password = "", .connections = 1}, metrics_};
};

TEST_F(PollingRacesTest, ACommandThatIsSentAgainLaterIsDoneOnce) {
  // There and back, so that the late one would be allowed.
  AllowBack();
  Register("1");
  const int64_t token = Claim("w")[0].token;
  const command::Transition there{token, "summarizing", std::nullopt};
  ASSERT_TRUE(Do("1", there, "there").ok());
  ASSERT_TRUE(Do("1", command::Transition{token, "processing", std::nullopt}, "back").ok());
  ASSERT_TRUE(Do("1", command::Progress{token, 10, ""}, "progress").ok());
  const Job before = Get("1");
  const int64_t events = EventCount("1");
  const auto late = Do("1", there, "there");  // what the network held back
  ASSERT_TRUE(late.ok()) << late.status();
  EXPECT_EQ(late->job, before);
  EXPECT_EQ(Get("1"), before);
  EXPECT_EQ(EventCount("1"), events);
}

TEST_F(PollingRacesTest, ACommandThatWaitedForTheLockSeesWhatWasDoneMeanwhile) {
  AllowBack();
  Register("1");
  const int64_t token = Claim("w")[0].token;
  std::promise<void> held;
  std::promise<void> go_on;
  std::thread holds([&] {
    EXPECT_TRUE(holder_
                    .Transaction(Soon(),
                                 [&](pg::Session& session) {
                                   session.ExecuteText(
                                       "SELECT 1 FROM polling.jobs WHERE id = '1' FOR UPDATE");
                                   held.set_value();
                                   go_on.get_future().wait();
                                   return OkStatus();
                                 })
                    .ok());
  });
  held.get_future().wait();
  // There, back, and there once more because the first answer did not come: all wait for the job.
  const command::Transition there{token, "summarizing", std::nullopt};
  const command::Transition back{token, "processing", std::nullopt};
  std::vector<std::future<StatusOr<Outcome>>> sent;
  const auto send = [&](const Command& command, const char* request) {
    sent.push_back(std::async(std::launch::async,
                              [this, command, request] { return Do("1", command, request); }));
    return AwaitLockWaits(std::ssize(sent));
  };
  EXPECT_TRUE(send(there, "there"));
  EXPECT_TRUE(send(back, "back"));
  EXPECT_TRUE(send(there, "there"));
  go_on.set_value();
  holds.join();
  for (auto& one : sent) EXPECT_TRUE(one.get().ok());
  EXPECT_EQ(Number("SELECT count(*) FROM polling.job_events WHERE request = 'there'"), 1);
}

TEST_F(PollingRacesTest, AVerbOfOperatorsSentTwiceAtATimeIsDoneOnce) {
  for (const char* id : {"a", "b", "c", "d"}) {
    Register(id);
    ASSERT_TRUE(Do(id, command::Bury{""}, "").ok());
  }
  std::vector<std::future<StatusOr<Touched>>> sent;
  for (int i = 0; i < 4; ++i) {
    sent.push_back(std::async(std::launch::async, [&] {
      return store_.Kick(Soon(), "stt", StaleReason::kNone, 1, {"mina", "", "once"});
    }));
  }
  for (auto& one : sent) {
    const auto kicked = one.get();
    ASSERT_TRUE(kicked.ok()) << kicked.status();
    EXPECT_THAT(kicked->ids, testing::ElementsAre("a"));
  }
  EXPECT_EQ(Number("SELECT count(*) FROM polling.jobs WHERE phase = 1"), 1);
}

TEST_F(PollingRacesTest, NothingComesBackIntoAStateThatItsPolicyHasNoMore) {
  const NewJob job{"1", "summarizing", "", {}};
  ASSERT_TRUE(store_.Register(Soon(), "stt", {&job, 1}, "").ok());
  ASSERT_TRUE(Do("1", command::Bury{""}, "").ok());
  const auto only = [&](const std::vector<std::string>& states) {
    return Change("stt",
                  [&](Policy policy) {
                    policy.states = states;
                    policy.transitions.clear();
                    return policy;
                  })
        .ok();
  };
  ASSERT_TRUE(only({"processing"}));
  const Status refused = Do("1", command::Requeue{}, "").status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(refused), HasSubstr("no longer has the state summarizing"));
  const auto kick = [&] { return store_.Kick(Soon(), "stt", StaleReason::kNone, 10, {})->count; };
  EXPECT_EQ(kick(), 0);
  EXPECT_EQ(Get("1").phase, Phase::kBuried);
  ASSERT_TRUE(only({"processing", "summarizing"}));
  EXPECT_EQ(kick(), 1);
}

TEST_F(PollingRacesTest, AnAnswerIsTheSameAfterSomebodyElseTouchedTheJob) {
  Register("1");
  const command::Fail fail{Claim("w")[0].token, true, "no such recording", Micros(0)};
  ASSERT_TRUE(Do("1", fail, "f").ok());
  ASSERT_TRUE(Do("1", command::Requeue{"again"}, "q").ok());
  const auto again = Do("1", fail, "f");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->job.phase, Phase::kWaiting);
  // Without its id it is a zombie's.
  EXPECT_EQ(ReasonOf(Do("1", fail, "").status()), Reason::kStaleToken);
}

TEST_F(PollingRacesTest, OneRequestIdForTwoCommandsSwallowsNeither) {
  const NewJob job{"1", "", "", {}};
  ASSERT_TRUE(store_.Register(Soon(), "stt", {&job, 1}, "id-1").ok());
  const int64_t token = Claim("w")[0].token;
  ASSERT_TRUE(Do("1", command::Progress{token, 50, ""}, "id-1").ok());
  EXPECT_EQ(Get("1").percent, 50);
  ASSERT_TRUE(Do("1", command::Complete{token, "text"}, "id-1").ok());
  EXPECT_EQ(Get("1").phase, Phase::kCompleted);
}

TEST_F(PollingRacesTest, AStateIsNotTakenOutOfAPolicyWhileAJobEntersIt) {
  // The registration has read the policy and waits amid its statement until it may go on.
  Sql("CREATE FUNCTION polling.hold() RETURNS trigger LANGUAGE plpgsql AS "
      "'BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN NEW; END'");
  Sql("CREATE TRIGGER hold BEFORE INSERT ON polling.jobs FOR EACH ROW "
      "EXECUTE FUNCTION polling.hold()");
  std::promise<void> held;
  std::promise<void> go_on;
  std::thread holds([&] {
    const Status done = holder_.Transaction(Soon(), [&](pg::Session& session) {
      session.ExecuteText("SELECT pg_advisory_xact_lock(4711)");
      held.set_value();
      go_on.get_future().wait();
      return OkStatus();
    });
    EXPECT_TRUE(done.ok()) << done;
  });
  held.get_future().wait();
  auto registered = std::async(std::launch::async, [&] {
    const NewJob job{"1", "summarizing", "", {}};
    return store_.Register(Soon(), "stt", {&job, 1}, "").status();
  });
  ASSERT_TRUE(AwaitLockWaits(1));
  auto changed = std::async(std::launch::async, [&] {
    return Change("stt",
                  [](Policy policy) {
                    policy.states = {"processing"};
                    policy.transitions.clear();
                    return policy;
                  })
        .status();
  });
  ASSERT_TRUE(AwaitLockWaits(2)) << "the change does not wait for who relies on the policy";
  go_on.set_value();
  holds.join();
  EXPECT_TRUE(registered.get().ok());
  EXPECT_EQ(changed.get().code(), StatusCode::kFailedPrecondition);
}

TEST_F(PollingRacesTest, AKindIsMadeOnceByTwoAtATime) {
  const auto make = [&] {
    return Change("batch", [](Policy policy) {
      policy.states = {"running"};
      return policy;
    });
  };
  std::vector<std::future<StatusOr<PolicyVersion>>> made;
  for (int i = 0; i < 4; ++i) made.push_back(std::async(std::launch::async, make));
  for (auto& one : made) {
    const auto version = one.get();
    ASSERT_TRUE(version.ok()) << version.status();
    EXPECT_EQ(version->version, 1);
  }
}

TEST_F(PollingRacesTest, TwoKindsShareNoKeyOfTheViewAndNoneIsWinnows) {
  const auto with = [&](const std::string& prefix, const std::string& state) {
    return Change("batch",
                  [&](Policy policy) {
                    policy.states = {state};
                    policy.view_prefix = prefix;
                    return policy;
                  })
        .status();
  };
  EXPECT_THAT(Message(with("stt:polling:", "processing")), HasSubstr("kind stt"));
  EXPECT_EQ(with("winnow:polling:", "view").code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(with("batch:", "processing").ok());
}

TEST_F(PollingRacesTest, AKindThatCannotBeSweptKeepsNoOtherWaiting) {
  ASSERT_TRUE(Change("aaa", [](Policy policy) {
                policy.states = {"running"};
                return policy;
              }).ok());
  const NewJob job{"broken", "", "", Micros(0)};
  ASSERT_TRUE(store_.Register(Soon(), "aaa", {&job, 1}, "").ok());
  ASSERT_TRUE(store_.Claim(Soon(), {"aaa", "w", 1}).ok());
  Sql("CREATE FUNCTION polling.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "  IF NEW.kind = 'aaa' THEN RAISE 'this kind cannot be written'; END IF; RETURN NEW; END $$;"
      "CREATE TRIGGER refuse BEFORE UPDATE ON polling.jobs FOR EACH ROW"
      "  EXECUTE FUNCTION polling.refuse()");
  Register("1");
  Claim("w");
  Pass(seconds(31));
  JobMetrics job_metrics(metrics_);
  ClaimWorker claims(store_, job_metrics);
  SweepWorker worker(store_, claims, job_metrics, {});
  EXPECT_FALSE(worker.SweepAll().ok()) << "it is reported";
  EXPECT_EQ(Get("1").phase, Phase::kWaiting);
  EXPECT_EQ(Get("1").losses, 1);
}

TEST_F(PollingRacesTest, WhatWasClaimedForACallerWhoIsGoneIsDueAtOnce) {
  JobMetrics job_metrics(metrics_);
  ClaimWorker claims(store_, job_metrics);
  claims.Start();
  std::atomic<int> asked = 0;
  std::promise<Status> answered;
  Register("1");
  Claim("lost");
  Pass(seconds(31));
  claims.Add({{"stt", "w", 1},
              std::chrono::steady_clock::now() + seconds(60),
              [&] { return asked++ > 0; },  // there before the claim, gone after it
              [&](const StatusOr<ClaimResult>& result) { answered.set_value(result.status()); }});
  EXPECT_EQ(answered.get_future().get().code(), StatusCode::kCancelled);
  claims.Stop();
  const std::vector<Job> claimed = Claim("other");
  ASSERT_THAT(claimed, SizeIs(1));
  EXPECT_EQ(claimed[0].losses, 1) << "who went away lost nothing";
  EXPECT_THAT(metrics_.Render(), ContainsRegex("winnow_polling_swept_total\\{[^}]*\\} 1\n"))
      << "what the claim took from the lost worker is counted all the same";
}

}  // namespace
}  // namespace winnow::polling
