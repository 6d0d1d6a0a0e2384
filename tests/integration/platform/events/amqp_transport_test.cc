#include "services/platform/events/amqp/amqp_transport.h"

#include <amqp.h>
#include <amqp_tcp_socket.h>

#include "tests/integration/platform/events/amqp_fixture.h"
#include "tests/integration/platform/events/slow_store.h"
#include "tests/support/postgres/locked_table.h"
#include "tests/support/sync/eventually.h"

namespace winnow::events {
namespace {

using test::Eventually;

TEST_F(AmqpTest, EveryEventReachesItsConsumerAndLeavesTheOutbox) {
  Recorder recorder;
  auto transport = NewTransport(address(), &recorder);
  Append("a", 3000);
  ASSERT_TRUE(transport->Start().ok());
  EXPECT_TRUE(Eventually([&] { return recorder.done() == 3000; })) << recorder.done();
  EXPECT_TRUE(Eventually([&] { return OutboxRows() == 0; }));
  EXPECT_TRUE(transport->Check().ok()) << transport->Check();
  transport->Stop(Soon());

  // A quorum queue may drop acknowledgements it had not applied when the channel closed: what it
  // has left comes once more, and then nothing is.
  auto next = NewTransport(address(), &recorder);
  ASSERT_TRUE(next->Start().ok());
  EXPECT_TRUE(Eventually([&] { return Waiting(kCollectedQueue) == 0; }));
  EXPECT_EQ(recorder.done(), 3000U);
}

TEST_F(AmqpTest, ACleanStopLogsNoFailure) {
  Recorder recorder;
  auto transport = NewTransport(address(), &recorder);
  Append("a", 3);
  ASSERT_TRUE(transport->Start().ok());
  ASSERT_TRUE(Eventually([&] { return recorder.done() == 3 && OutboxRows() == 0; }));
  testing::internal::CaptureStderr();
  transport->Stop(Soon());
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(log.find("cannot"), std::string::npos) << log;
  EXPECT_EQ(log.find("\"warn"), std::string::npos) << log;
}

TEST_F(AmqpTest, AnEventWaitsForAConsumerThatRunsLater) {
  auto producer = NewTransport(address(), nullptr);
  Append("a", 50);
  ASSERT_TRUE(producer->Start().ok());
  ASSERT_TRUE(Eventually([&] { return OutboxRows() == 0; }));
  producer->Stop(Soon());

  Recorder recorder;
  auto consumer = NewTransport(address(), &recorder);
  ASSERT_TRUE(consumer->Start().ok());
  EXPECT_TRUE(Eventually([&] { return recorder.done() == 50; })) << recorder.done();
}

TEST_F(AmqpTest, WhatCannotBeDoneBecomesADeadLetterAndHoldsNobodyUp) {
  Recorder recorder;
  recorder.Answer("a1", InvalidField("item_id", "is bad"));
  recorder.Answer("a2", Aborted(Reason::kWriteConflict, "again and again"));
  auto transport = NewTransport(address(), &recorder, 3);
  Append("a", 10);
  ASSERT_TRUE(transport->Start().ok());
  EXPECT_TRUE(Eventually([&] { return recorder.done() == 8; })) << recorder.done();
  EXPECT_TRUE(Eventually([&] { return Waiting(DeadQueueName(kCollectedQueue)) == 2; }));
  EXPECT_EQ(recorder.deliveries("a1"), 1);
  EXPECT_EQ(recorder.deliveries("a2"), 3);
}

TEST_F(AmqpTest, WhatAnOutageHoldsUpComesAgainUntilItWorks) {
  Recorder recorder;
  const Status away = Unavailable(Reason::kStoreUnavailable, "away", std::chrono::milliseconds(1));
  recorder.Answer("a0", away);
  auto transport = NewTransport(address(), &recorder, 3);
  Append("a", 1);
  ASSERT_TRUE(transport->Start().ok());
  ASSERT_TRUE(Eventually([&] { return recorder.deliveries("a0") > 6; }));
  recorder.Answer("a0", OkStatus());
  EXPECT_TRUE(Eventually([&] { return recorder.done() == 1; }));
  EXPECT_EQ(Waiting(DeadQueueName(kCollectedQueue)), 0);
}

TEST_F(AmqpTest, ALockOfAnyLengthMakesNoDeadLetter) {
  SlowStore store(pool_);
  test::LockedTable lock(database_url_, "public.kept");
  auto transport = NewTransport(
      address(), [&](auto envelopes) { return store.Deliver(envelopes); }, 3);
  Append("a", 3);
  ASSERT_TRUE(transport->Start().ok());
  ASSERT_TRUE(Eventually([&] { return store.timeouts() > 12; })) << store.tries();
  store.BePatient();
  lock.Release();
  EXPECT_TRUE(Eventually([&] { return store.kept() == 3; })) << store.kept();
  EXPECT_EQ(Waiting(DeadQueueName(kCollectedQueue)), 0);
}

TEST_F(AmqpTest, WhatTimesOutAlwaysIsADeadLetterOnceOthersAreDone) {
  Recorder recorder;
  recorder.Answer("p0", DeadlineExceeded("slow"));
  auto transport = NewTransport(address(), &recorder, 3);
  Append("p", 1);
  ASSERT_TRUE(transport->Start().ok());
  ASSERT_TRUE(Eventually([&] { return recorder.deliveries("p0") > 10; }));
  EXPECT_EQ(Waiting(DeadQueueName(kCollectedQueue)), 0);
  int rounds = 0;
  EXPECT_TRUE(Eventually([&] {
    Append("a" + std::to_string(rounds++), 1);
    return Waiting(DeadQueueName(kCollectedQueue)) == 1;
  }));
  EXPECT_TRUE(Eventually([&] { return recorder.done() == static_cast<size_t>(rounds); }));
}

TEST_F(AmqpTest, APayloadOfGarbageOrOfANewerSchemaIsADeadLetter) {
  Recorder recorder;
  auto transport = NewTransport(address(), &recorder);
  auto connection = AmqpConnection::Open(address());
  ASSERT_TRUE(connection.ok()) << connection.status();
  Envelope unknown_payload = NewEnvelope(SystemClock().Now(), "default", "");
  ASSERT_TRUE((*connection)->Publish(kEventExchange, kCollected, "1", "\xff\xff garbage").ok());
  ASSERT_TRUE((*connection)
                  ->Publish(kEventExchange, kCollected, "2", unknown_payload.SerializeAsString())
                  .ok());
  Append("a", 1);
  ASSERT_TRUE(transport->Start().ok());
  EXPECT_TRUE(Eventually([&] { return Waiting(DeadQueueName(kCollectedQueue)) == 2; }));
  EXPECT_TRUE(Eventually([&] { return recorder.done() == 1; }));
}

TEST_F(AmqpTest, ABrokerThatIsKilledLosesNothing) {
  Recorder recorder;
  auto transport = NewTransport(address(), &recorder);
  ASSERT_TRUE(transport->Start().ok());
  Append("a", 500);
  ASSERT_TRUE(Eventually([&] { return recorder.done() > 0; }));
  broker_.Kill();
  Append("b", 500);
  EXPECT_TRUE(Eventually([&] { return !transport->Check().ok(); }));
  broker_.Start();
  EXPECT_TRUE(Eventually([&] { return recorder.done() == 1000; })) << recorder.done();
  EXPECT_TRUE(Eventually([&] { return OutboxRows() == 0; }));
  EXPECT_TRUE(Eventually([&] { return transport->Check().ok(); })) << transport->Check();
}

TEST_F(AmqpTest, AQueueThatIsDeletedIsMadeAgain) {
  Recorder recorder;
  auto transport = NewTransport(address(), &recorder);
  ASSERT_TRUE(transport->Start().ok());
  Append("a", 10);
  ASSERT_TRUE(Eventually([&] { return recorder.done() == 10 && OutboxRows() == 0; }));
  broker_.Control({"delete_queue", "-p", address().vhost, kCollectedQueue});
  Append("b", 100);
  EXPECT_TRUE(Eventually([&] { return recorder.done() == 110; })) << recorder.done();
  EXPECT_TRUE(Eventually([&] { return OutboxRows() == 0; }));
}

TEST_F(AmqpTest, AFullQueueKeepsItsEventsInTheOutbox) {
  broker_.Control({"set_policy", "-p", address().vhost, "--apply-to", "queues", "short",
                   "^winnow\\.dedup\\.ItemCollected\\.v1$", R"({"max-length":10})"});
  auto producer = NewTransport(address(), nullptr);
  ASSERT_TRUE(producer->Start().ok());
  Append("a", 200);
  ASSERT_TRUE(Eventually([&] { return Waiting(kCollectedQueue) >= 10; }));
  Append("b", 200);  // a quorum queue reports that it is full a little late
  ASSERT_TRUE(Eventually([&] {
    return metrics_.Render().find("winnow_events_refused_total 0") == std::string::npos;
  }));
  EXPECT_GT(OutboxRows(), 0);
  Recorder recorder;
  auto consumer = NewTransport(address(), &recorder);
  ASSERT_TRUE(consumer->Start().ok());
  EXPECT_TRUE(Eventually([&] { return recorder.done() == 400 && OutboxRows() == 0; }))
      << recorder.done();
}

TEST_F(AmqpTest, ABrokerShortOfMemoryIsWaitedFor) {
  Recorder recorder;
  auto transport = NewTransport(address(), &recorder);
  ASSERT_TRUE(transport->Start().ok());
  Append("a", 1);
  ASSERT_TRUE(Eventually([&] { return recorder.done() == 1; }));
  broker_.Control({"set_vm_memory_high_watermark", "absolute", "1MB"});
  Append("b", 100);
  EXPECT_TRUE(Eventually([&] { return !transport->Check().ok(); }));
  EXPECT_NE(Message(transport->Check()).find("takes no events"), std::string::npos)
      << transport->Check();
  broker_.Control({"set_vm_memory_high_watermark", "0.4"});
  EXPECT_TRUE(Eventually([&] { return recorder.done() == 101 && transport->Check().ok(); }))
      << recorder.done() << " " << transport->Check();
}

TEST_F(AmqpTest, AWrongPasswordIsToldAndMendedWithoutARestart) {
  broker_.Control({"add_user", "reader", "right"});
  broker_.Control({"set_permissions", "-p", address().vhost, "reader", ".*", ".*", ".*"});
  AmqpAddress wrong = address();
  wrong.user = "reader";
  wrong.password = "wrong-secret";
  Recorder recorder;
  auto transport = NewTransport(wrong, &recorder);
  Append("a", 5);
  ASSERT_TRUE(transport->Start().ok());
  ASSERT_TRUE(Eventually([&] {
    return Message(transport->Check()).find("log in to amqp://reader@") != std::string::npos;
  })) << transport->Check();
  EXPECT_EQ(Message(transport->Check()).find("wrong-secret"), std::string::npos);
  broker_.Control({"change_password", "reader", "wrong-secret"});
  EXPECT_TRUE(Eventually([&] { return recorder.done() == 5; })) << transport->Check();
  broker_.Control({"delete_user", "reader"});
}

TEST_F(AmqpTest, AVhostThatIsNotThereIsTold) {
  AmqpAddress wrong = address();
  wrong.vhost = "nowhere";
  auto transport = NewTransport(wrong, nullptr);
  ASSERT_TRUE(transport->Start().ok());
  EXPECT_TRUE(Eventually([&] {
    return Message(transport->Check()).find("/nowhere") != std::string::npos;
  })) << transport->Check();
}

// Declares a queue as somebody else might have, and binds it to the event, if any.
void DeclareClassicQueue(const AmqpAddress& address, const char* queue, const char* event) {
  amqp_connection_state_t connection = amqp_new_connection();
  amqp_socket_t* socket = amqp_tcp_socket_new(connection);
  ASSERT_EQ(amqp_socket_open(socket, address.host.c_str(), address.port), AMQP_STATUS_OK);
  amqp_login(connection, address.vhost.c_str(), 0, 131072, 0, AMQP_SASL_METHOD_PLAIN,
             address.user.c_str(), address.password.c_str());
  amqp_channel_open(connection, 1);
  amqp_queue_declare(connection, 1, amqp_cstring_bytes(queue), 0, 1, 0, 0, amqp_empty_table);
  ASSERT_EQ(amqp_get_rpc_reply(connection).reply_type, AMQP_RESPONSE_NORMAL);
  if (event != nullptr) {
    amqp_queue_bind(connection, 1, amqp_cstring_bytes(queue), amqp_cstring_bytes(kEventExchange),
                    amqp_cstring_bytes(event), amqp_empty_table);
    ASSERT_EQ(amqp_get_rpc_reply(connection).reply_type, AMQP_RESPONSE_NORMAL);
  }
  amqp_destroy_connection(connection);
}

TEST_F(AmqpTest, AnEventThatNoServiceTakesGoesToWhoBoundAQueueToIt) {
  auto transport = NewTransport(address(), nullptr);
  ASSERT_TRUE(transport->Start().ok());
  Envelope envelope = NewEnvelope(SystemClock().Now(), "default", "");
  envelope.mutable_citation_threshold_reached()->set_channel_count(3);
  Append({envelope});
  EXPECT_TRUE(Eventually([&] { return OutboxRows() == 0; })) << "nobody has bound one yet";
  DeclareClassicQueue(address(), "alerts", "winnow.events.v1.CitationThresholdReached");
  Append({envelope});
  EXPECT_TRUE(Eventually([&] { return Waiting("alerts") == 1; }));
  EXPECT_TRUE(Eventually([&] { return OutboxRows() == 0; }));
}

TEST_F(AmqpTest, AQueueWithOtherArgumentsIsToldAndMendedWithoutARestart) {
  DeclareClassicQueue(address(), kCollectedQueue, nullptr);
  Recorder recorder;
  auto transport = NewTransport(address(), &recorder);
  Append("a", 5);
  ASSERT_TRUE(transport->Start().ok());
  ASSERT_TRUE(Eventually([&] {
    return Message(transport->Check()).find("inequivalent arg") != std::string::npos;
  })) << transport->Check();
  broker_.Control({"delete_queue", "-p", address().vhost, kCollectedQueue});
  EXPECT_TRUE(Eventually([&] { return recorder.done() == 5; })) << transport->Check();
}

TEST(AmqpUrl, IsReadWithItsDefaults) {
  const auto address = ParseAmqpUrl("amqp://user:pa%2Fss@broker.example:5673/news");
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->host, "broker.example");
  EXPECT_EQ(address->port, 5673);
  EXPECT_EQ(address->user, "user");
  EXPECT_EQ(address->password, "pa/ss");
  EXPECT_EQ(address->vhost, "news");
  EXPECT_FALSE(address->tls);
  EXPECT_EQ(address->ToString().find("pa"), std::string::npos);

  const auto plain = ParseAmqpUrl("amqp://broker.example");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->port, 5672);
  EXPECT_EQ(plain->vhost, "/");
}

TEST(AmqpUrl, ThatIsNoneIsRefusedByItsField) {
  for (const char* url : {"", "broker", "http://broker", "amqp://broker:port/"}) {
    const auto address = ParseAmqpUrl(url);
    ASSERT_FALSE(address.ok()) << url;
    EXPECT_EQ(ViolationsOf(address.status()).at(0).field, "events.url");
  }
}

}  // namespace
}  // namespace winnow::events
