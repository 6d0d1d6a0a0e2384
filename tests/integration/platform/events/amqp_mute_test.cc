// A broker that falls silent: what waits for it here would do so for many minutes.
#include <future>

#include "services/platform/events/amqp/amqp_dead_letters.h"
#include "tests/integration/platform/events/amqp_fixture.h"
#include "tests/support/http/tcp_proxy.h"
#include "tests/support/sync/eventually.h"

namespace winnow::events {
namespace {

using std::chrono::minutes;
using test::Eventually;

constexpr AmqpTimes kPatient{minutes(20), minutes(20), minutes(20), minutes(20)};

class MuteBroker : public AmqpTest {
 protected:
  // The broker's address by way of the proxy.
  AmqpAddress By(const test::TcpProxy& proxy, const AmqpTimes& times = kPatient) const {
    AmqpAddress by = address();
    by.port = proxy.port();
    by.times = times;
    return by;
  }
  static Deadline Now() { return std::chrono::steady_clock::now(); }
  // More than the buffers between two processes hold.
  void AppendMuch(const std::string& prefix, int count) {
    for (int i = 0; i < count; ++i) Append(prefix + std::string(200'000, 'x'), 1);
  }
};

TEST_F(MuteBroker, HoldsNoStopUpThatComesWhileItIsConnectedTo) {
  const test::TcpProxy mute(0);
  Recorder recorder;
  auto transport = NewTransport(By(mute), &recorder);
  ASSERT_TRUE(transport->Start().ok());
  auto listing = std::async(std::launch::async, [&] {
    return transport->dead_letters().List(Now() + minutes(20), {}, std::nullopt, 1);
  });
  ASSERT_TRUE(Eventually([&] { return mute.taken() == 3; })) << mute.taken();
  transport->Stop(Now());
  EXPECT_EQ(listing.get().status().code(), StatusCode::kUnavailable);
}

TEST_F(MuteBroker, HoldsNoStopUpThatComesLater) {
  test::TcpProxy proxy(address().port);
  Recorder recorder;
  auto transport = NewTransport(By(proxy), &recorder);
  Append("a", 3);
  ASSERT_TRUE(transport->Start().ok());
  ASSERT_TRUE(Eventually([&] { return recorder.done() == 3 && transport->Check().ok(); }));
  proxy.Mute();
  Append("b", 3);
  transport->Stop(Now() + std::chrono::milliseconds(300));
}

TEST_F(MuteBroker, HoldsNoStopUpThatComesWhileItTakesNothing) {
  test::TcpProxy proxy(address().port);
  auto transport = NewTransport(By(proxy), nullptr);
  ASSERT_TRUE(transport->Start().ok());
  ASSERT_TRUE(Eventually([&] { return transport->Check().ok(); }));
  proxy.Mute();
  AppendMuch("a", 60);
  transport->Stop(Now() + std::chrono::milliseconds(300));
  EXPECT_GT(OutboxRows(), 0);
}

TEST_F(MuteBroker, IsLeftForTheNextConnectionWhenItTakesNothingForTooLong) {
  test::TcpProxy proxy(address().port);
  AmqpTimes times = kPatient;
  times.send = std::chrono::seconds(2);
  auto transport = NewTransport(By(proxy, times), nullptr);
  ASSERT_TRUE(transport->Start().ok());
  ASSERT_TRUE(Eventually([&] { return transport->Check().ok(); }));
  proxy.Mute();
  AppendMuch("a", 60);
  EXPECT_TRUE(Eventually([&] { return OutboxRows() == 0; })) << OutboxRows();
}

TEST_F(MuteBroker, EndsACallAboutDeadLettersByItsDeadline) {
  const test::TcpProxy mute(0);
  AmqpDeadLetters dead_letters(By(mute));
  const auto listed =
      dead_letters.List(Now() + std::chrono::milliseconds(200), {}, std::nullopt, 1);
  EXPECT_EQ(ReasonOf(listed.status()), Reason::kBrokerUnavailable) << listed.status();
}

}  // namespace
}  // namespace winnow::events
