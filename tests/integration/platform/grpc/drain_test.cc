#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stop_token>
#include <thread>

#include "services/platform/grpc/errors/error_exit.h"
#include "tests/support/grpc/echo_server.h"
#include "tests/support/grpc/health_client.h"
#include "tests/support/sync/eventually.h"
#include "tests/support/sync/gate.h"

namespace winnow::test {
namespace {

std::string InFlight(const std::string& method) {
  return "winnow_rpc_in_flight{method=\"winnow.test.v1.EchoService/" + method + "\"}";
}

Deadline In(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

bool EndCalls(EchoServer& server) {
  server.server().AnnounceEnd();
  return server.server().Drain(In(std::chrono::minutes(1)));
}

Reason ReasonOfEnd(const grpc::Status& status) {
  return ReasonOf(rpc::FromGrpcStatus(status, "echo"));
}

TEST(Drain, LetsACallInFlightEndAndRefusesNewOnes) {
  Gate gate;
  EchoOptions options;
  options.handlers.say = [&](const auto&, const auto&) -> StatusOr<echo::SayResponse> {
    gate.Wait();
    return echo::SayResponse();
  };
  EchoServer server(std::move(options));
  const auto channel = server.NewTcpChannel();
  const auto stub = echo::EchoService::NewStub(channel);
  auto in_flight = std::async(std::launch::async, [&] {
    echo::SayResponse response;
    return stub->Say(ContextOf().get(), {}, &response);
  });
  ASSERT_TRUE(Eventually([&] { return gate.Waiting() == 1; }));
  auto drained = std::async(std::launch::async, [&] { return EndCalls(server); });
  EXPECT_TRUE(Eventually([&] { return CheckHealth(channel, "") == Serving::kNo; }));
  EXPECT_EQ(CheckHealth(channel, kEchoServiceName), Serving::kNo);
  grpc::Status refused;
  EXPECT_TRUE(Eventually([&] {
    echo::StoreResponse response;
    refused = stub->Store(ContextOf().get(), {}, &response);
    return !refused.ok();
  }));
  EXPECT_EQ(refused.error_code(), grpc::UNAVAILABLE);
  EXPECT_EQ(ReasonOfEnd(refused), Reason::kShuttingDown);
  EXPECT_TRUE(RetryAfterOf(rpc::FromGrpcStatus(refused, "echo")).has_value());
  // Those who flush the outbox still reach their peers.
  const rpc::Peer peer(server.in_process(), server.runtime().auth().in_process_header());
  const auto context = std::make_unique<grpc::ClientContext>();
  peer.Prepare(*context, rpc::BackgroundCall(std::chrono::seconds(60)));
  echo::StoreResponse response;
  EXPECT_TRUE(server.stub().Store(context.get(), {}, &response).ok());
  gate.Open();
  EXPECT_TRUE(drained.get());
  EXPECT_TRUE(in_flight.get().ok());
  server.server().Shutdown();
}

TEST(Drain, EndsWatchesLongPollsAndIngestStreams) {
  std::mutex mutex;
  std::vector<rpc::Subscriber<echo::WatchResponse>> subscribers;
  std::vector<rpc::Completion<echo::AwaitResponse>> parked;
  EchoOptions options;
  options.handlers.watch = [&](const auto&, const auto&, const auto& subscriber) {
    const std::lock_guard lock(mutex);
    subscribers.push_back(subscriber);
    return OkStatus();
  };
  options.handlers.await = [&](const auto&, const auto&, const auto& done) {
    const std::lock_guard lock(mutex);
    parked.push_back(done);
  };
  EchoServer server(std::move(options));
  const auto watch_context = ContextOf();
  const auto watch = server.stub().Watch(watch_context.get(), {});
  auto poll = std::async(std::launch::async, [&] {
    echo::AwaitResponse response;
    return server.stub().Await(ContextOf().get(), {}, &response);
  });
  const auto ingest_context = ContextOf();
  const auto ingest = server.stub().Take(ingest_context.get());
  ASSERT_TRUE(ingest->Write(echo::TakeRequest()));
  echo::TakeResponse taken;
  ASSERT_TRUE(ingest->Read(&taken));
  ASSERT_TRUE(Eventually([&] {
    const std::lock_guard lock(mutex);
    return subscribers.size() == 1 && parked.size() == 1;
  }));

  EXPECT_TRUE(EndCalls(server));
  EXPECT_EQ(ReasonOfEnd(watch->Finish()), Reason::kShuttingDown);
  EXPECT_EQ(ReasonOfEnd(poll.get()), Reason::kShuttingDown);
  EXPECT_FALSE(ingest->Read(&taken));
  EXPECT_EQ(ReasonOfEnd(ingest->Finish()), Reason::kShuttingDown);
  for (const char* method : {"Watch", "Await", "Take"}) {
    EXPECT_EQ(server.Sample(InFlight(method)), 0) << method;
  }
}

TEST(Drain, AnswersWhatAnIngestStreamHasTakenIn) {
  Gate gate;
  EchoOptions options;
  options.handlers.take = [&](const rpc::CallContext& call,
                              std::span<const echo::TakeRequest> requests) {
    gate.Wait();
    return PlainEcho().take(call, requests);
  };
  EchoServer server(std::move(options));
  const auto context = ContextOf();
  const auto stream = server.stub().Take(context.get());
  ASSERT_TRUE(stream->Write(echo::TakeRequest()));
  ASSERT_TRUE(Eventually([&] { return gate.Waiting() == 1; }));
  auto drained = std::async(std::launch::async, [&] { return EndCalls(server); });
  // In flight until it is answered.
  EXPECT_EQ(server.Sample(InFlight("Take")), 1);
  gate.Open();
  echo::TakeResponse response;
  EXPECT_TRUE(stream->Read(&response));
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(drained.get());
  EXPECT_EQ(ReasonOfEnd(stream->Finish()), Reason::kShuttingDown);
}

TEST(Drain, GivesUpAtItsTimeoutAndCutsWhatIsLeft) {
  EchoOptions options;
  options.server.cut_after = std::chrono::milliseconds(50);
  std::atomic<bool> begun = false;
  options.handlers.say = [&](const rpc::CallContext& call, const auto&) {
    begun = true;
    EXPECT_TRUE(Eventually([&] { return call.cancelled(); }));
    return StatusOr<echo::SayResponse>(FailedPrecondition("cut"));
  };
  EchoServer server(std::move(options));
  auto in_flight = std::async(std::launch::async, [&] {
    echo::SayResponse response;
    return server.stub().Say(ContextOf().get(), {}, &response);
  });
  ASSERT_TRUE(Eventually([&] { return begun.load(); }));
  EXPECT_FALSE(server.server().Drain(In(std::chrono::milliseconds(50))));
  server.server().Shutdown();
  EXPECT_FALSE(in_flight.get().ok());
}

// Clients try UNAVAILABLE again; CANCELLED would be their own doing.
TEST(Drain, TellsNobodyThatACallWasCancelled) {
  for (int round = 0; round < 20; ++round) {
    EchoServer server;
    std::atomic<bool> done = false;
    std::atomic<int> answered = 0;
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i) {
      callers.emplace_back([&, channel = server.NewTcpChannel()] {
        const auto stub = echo::EchoService::NewStub(channel);
        while (!done) {
          echo::SayResponse response;
          grpc::ClientContext context;
          const grpc::Status status = stub->Say(&context, {}, &response);
          EXPECT_TRUE(status.ok() || status.error_code() == grpc::UNAVAILABLE)
              << status.error_code() << " " << status.error_message();
          if (status.ok()) ++answered;
        }
      });
    }
    ASSERT_TRUE(Eventually([&] { return answered > 20; }));
    EXPECT_TRUE(EndCalls(server));
    server.server().Shutdown();
    done = true;
    for (std::thread& caller : callers) caller.join();
  }
}

TEST(Drain, LogsNoFailureThatIsNone) {
  testing::internal::CaptureStderr();
  {
    EchoServer server;
    const auto stub = echo::EchoService::NewStub(server.NewTcpChannel());
    echo::SayResponse response;
    EXPECT_TRUE(stub->Say(ContextOf().get(), {}, &response).ok());
    EXPECT_TRUE(EndCalls(server));
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(log.find("\"warn\""), std::string::npos) << log;
}

TEST(Drain, KeepsServingDuringItsDelayUnlessHurried) {
  EchoOptions options;
  options.config.mutable_calls()->mutable_drain_delay()->set_seconds(60);
  EchoServer server(std::move(options));
  const auto channel = server.NewTcpChannel();
  const auto stub = echo::EchoService::NewStub(channel);
  std::stop_source hurry;
  auto announced =
      std::async(std::launch::async, [&] { server.server().AnnounceEnd(hurry.get_token()); });
  ASSERT_TRUE(Eventually([&] { return CheckHealth(channel, "") == Serving::kNo; }));
  echo::SayResponse response;
  EXPECT_TRUE(stub->Say(ContextOf().get(), {}, &response).ok());
  hurry.request_stop();
  announced.get();
  EXPECT_TRUE(server.server().Drain(In(std::chrono::minutes(1))));
  EXPECT_FALSE(stub->Say(ContextOf().get(), {}, &response).ok());
}

}  // namespace
}  // namespace winnow::test
