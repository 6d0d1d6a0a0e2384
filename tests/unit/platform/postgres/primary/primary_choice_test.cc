#include "services/platform/postgres/primary/primary_choice.h"

#include <gmock/gmock.h>

#include "services/platform/postgres/session/connection_settings.h"

namespace winnow::pg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

using Answers = std::vector<std::optional<HostAnswer>>;

const std::vector<std::string> kNames = {"a:5432", "b:5432"};

HostAnswer Primary(int64_t timeline, std::vector<std::string> accepted = {"1"}) {
  HostAnswer answer;
  answer.system = accepted.empty() ? "1" : accepted.back();
  answer.timeline = timeline;
  answer.writable = true;
  answer.server_start = std::to_string(timeline) + answer.system;
  answer.accepted = std::move(accepted);
  return answer;
}

HostAnswer Standby(int64_t timeline) {
  HostAnswer answer = Primary(timeline);
  answer.writable = false;
  return answer;
}

PrimaryChoice Choose(const Answers& answers, const KnownPrimary& known = {}) {
  return ChoosePrimary(known, kNames, answers);
}

KnownPrimary Known(const Answers& answers) { return Choose(answers).known; }

TEST(PrimaryChoice, TakesTheHostThatAcceptsWrites) {
  const PrimaryChoice choice = Choose({Standby(1), Primary(1)});
  EXPECT_THAT(choice.known.host, Optional(1));
  EXPECT_THAT(choice.states, ElementsAre(HostState::kStandby, HostState::kPrimary));
  EXPECT_EQ(choice.problem, "");
}

TEST(PrimaryChoice, TheHighestTimelineWinsOverTheHostInUse) {
  const PrimaryChoice choice = Choose({Primary(1), Primary(2)}, Known({Primary(1), Standby(1)}));
  EXPECT_THAT(choice.known.host, Optional(1));
  EXPECT_EQ(choice.known.timeline, 2);
  EXPECT_THAT(choice.states, ElementsAre(HostState::kOldTimeline, HostState::kPrimary));
}

TEST(PrimaryChoice, AnOldPrimaryAloneIsNotUsedOnceAHigherTimelineWasSeen) {
  const PrimaryChoice choice = Choose({Primary(1), std::nullopt}, Known({Primary(1), Primary(2)}));
  EXPECT_EQ(choice.known.host, std::nullopt);
  EXPECT_THAT(choice.problem, HasSubstr("a:5432 is on timeline 1, and timeline 2 exists"));
}

TEST(PrimaryChoice, AStandbyOnAHigherTimelineShowsThatThePrimaryIsOld) {
  const PrimaryChoice choice = Choose({Primary(1), Standby(2)});
  EXPECT_EQ(choice.known.host, std::nullopt);
  EXPECT_EQ(choice.known.timeline, 2);
}

TEST(PrimaryChoice, TwoPrimariesOnOneTimelineAreBothRefused) {
  HostAnswer other = Primary(2);
  other.server_start = "another server";
  const PrimaryChoice choice = Choose({Primary(2), other});
  EXPECT_EQ(choice.known.host, std::nullopt);
  EXPECT_THAT(choice.states, ElementsAre(HostState::kConflict, HostState::kConflict));
  EXPECT_THAT(choice.problem, HasSubstr("a:5432 b:5432"));
}

TEST(PrimaryChoice, TwoAddressesOfOneServerAreOnePrimaryAndTheOneInUseStays) {
  KnownPrimary known = Known({Primary(2), Primary(2)});
  EXPECT_THAT(known.host, Optional(0));
  known.host = 1;
  EXPECT_THAT(Choose({Primary(2), Primary(2)}, known).known.host, Optional(1));
}

TEST(PrimaryChoice, ARestoredDatabaseIsRefusedUntilItsSystemIsAccepted) {
  const Answers old = {Primary(5), std::nullopt};
  Answers moved = {std::nullopt, Primary(1, {"1"})};
  moved[1]->system = "2";  // a dump carries along what was accepted
  const PrimaryChoice refused = Choose(moved, Known(old));
  EXPECT_EQ(refused.known.host, std::nullopt);
  EXPECT_EQ(refused.known.system, "1");
  EXPECT_THAT(refused.problem, HasSubstr("winnow migrate --accept-system"));
  EXPECT_EQ(Choose(moved).known.host, std::nullopt);  // a new process

  moved[1]->accepted = {"1", "2"};
  const PrimaryChoice accepted = Choose(moved, Known(old));
  EXPECT_THAT(accepted.known.host, Optional(1));
  EXPECT_EQ(accepted.known.timeline, 1);
}

TEST(PrimaryChoice, TheSystemAcceptedLastWinsOverTheOneInUse) {
  const KnownPrimary known = Known({Primary(5), std::nullopt});
  const PrimaryChoice choice = Choose({Primary(5), Primary(1, {"1", "2"})}, known);
  EXPECT_THAT(choice.known.host, Optional(1));
  EXPECT_THAT(choice.states, ElementsAre(HostState::kOtherSystem, HostState::kPrimary));
}

TEST(PrimaryChoice, AnUnrelatedSystemIsNeverSwitchedTo) {
  const PrimaryChoice choice =
      Choose({std::nullopt, Primary(9, {"7"})}, Known({Primary(1), std::nullopt}));
  EXPECT_EQ(choice.known.host, std::nullopt);
  EXPECT_EQ(Choose({Primary(1), Primary(9, {"7"})}).known.host, std::nullopt);
  EXPECT_THAT(Choose({Primary(1), Primary(9, {"7"})}).problem, HasSubstr("unrelated"));
}

TEST(PrimaryChoice, AnEmptyServerInPlaceOfTheOneInUseIsRefused) {
  HostAnswer empty = Primary(1, {});
  empty.system = "9";
  EXPECT_EQ(Choose({empty, std::nullopt}, Known({Primary(1), std::nullopt})).known.host,
            std::nullopt);
  EXPECT_THAT(Choose({empty, std::nullopt}).known.host, Optional(0));  // a first run
}

TEST(PrimaryChoice, NamesWhatIsWrongWithEachHost) {
  const PrimaryChoice choice = Choose({std::nullopt, Standby(1)});
  EXPECT_EQ(choice.known.host, std::nullopt);
  EXPECT_THAT(choice.problem, HasSubstr("a:5432 does not answer, b:5432 is in recovery"));
}

TEST(PostgresUrl, IsTakenApartIntoItsHosts) {
  const auto hosts = ParseHosts(
      "postgres://u@a:1,b:2/d?target_session_attrs=read-write&pooling=transaction", "secret", "x");
  ASSERT_TRUE(hosts.ok());
  ASSERT_EQ(hosts->size(), 2);
  EXPECT_EQ((*hosts)[0].name, "a:1");
  EXPECT_EQ((*hosts)[1].name, "b:2");
  EXPECT_THAT((*hosts)[1].settings.conninfo, HasSubstr("host='b'"));
  EXPECT_THAT((*hosts)[1].settings.conninfo, HasSubstr("port='2'"));
  // A standby must answer as well.
  EXPECT_THAT((*hosts)[1].settings.conninfo, Not(HasSubstr("target_session_attrs")));
  EXPECT_TRUE((*hosts)[1].settings.transaction_pooling);
}

TEST(PostgresUrl, OneHostKeepsItsSettingsAndOnePortIsOfAllHosts) {
  const auto one = ParseHosts("postgres://u@a/d?target_session_attrs=primary", "", "");
  ASSERT_TRUE(one.ok());
  ASSERT_EQ(one->size(), 1);
  EXPECT_EQ((*one)[0].name, "a:5432");
  EXPECT_THAT((*one)[0].settings.conninfo, HasSubstr("target_session_attrs"));

  const auto two = ParseHosts("host=a,b port=7 dbname=d", "", "");
  ASSERT_TRUE(two.ok());
  EXPECT_EQ((*two)[1].name, "b:7");
}

TEST(PostgresUrl, PortsThatDoNotFitTheHostsAreRefused) {
  EXPECT_FALSE(ParseHosts("host=a,b,c port=1,2 dbname=d", "", "").ok());
}

}  // namespace
}  // namespace winnow::pg
