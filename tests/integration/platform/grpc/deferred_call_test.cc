#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>

#include "services/platform/grpc/errors/error_exit.h"
#include "tests/support/grpc/echo_server.h"
#include "tests/support/sync/eventually.h"
#include "tests/support/sync/gate.h"

namespace winnow::test {
namespace {

using std::chrono::milliseconds;

constexpr const char* kInFlight =
    "winnow_rpc_in_flight{method=\"winnow.test.v1.EchoService/Await\"}";

// Completions that handlers parked.
class Parked {
 public:
  auto Handler() {
    return [this](const rpc::CallContext&, const echo::AwaitRequest&,
                  rpc::Completion<echo::AwaitResponse> done) {
      const std::lock_guard lock(mutex_);
      parked_.push_back(std::move(done));
    };
  }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return parked_.size();
  }
  std::vector<rpc::Completion<echo::AwaitResponse>> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(parked_, {});
  }

 private:
  mutable std::mutex mutex_;
  std::vector<rpc::Completion<echo::AwaitResponse>> parked_;
};

struct Answer {
  grpc::Status status;
  echo::AwaitResponse response;
};

std::future<Answer> Await(EchoServer& server,
                          std::shared_ptr<grpc::ClientContext> context = ContextOf()) {
  return std::async(std::launch::async, [&server, context = std::move(context)] {
    Answer answer;
    answer.status = server.stub().Await(context.get(), {}, &answer.response);
    return answer;
  });
}

echo::AwaitResponse Response(const std::string& text) {
  echo::AwaitResponse response;
  response.set_text(text);
  return response;
}

TEST(DeferredCall, HoldsNoThreadWhileItWaits) {
  Parked parked;
  EchoOptions options;
  options.runtime.read_threads = 1;
  options.handlers.await = parked.Handler();
  EchoServer server(std::move(options));
  std::vector<std::future<Answer>> answers;
  for (int i = 0; i < 20; ++i) answers.push_back(Await(server));
  ASSERT_TRUE(Eventually([&] { return parked.size() == 20; }));
  echo::SayResponse said;
  EXPECT_TRUE(server.stub().Say(ContextOf().get(), {}, &said).ok());
  for (auto& done : parked.Take()) done(Response("now"));
  for (auto& answer : answers) EXPECT_EQ(answer.get().response.text(), "now");
}

TEST(DeferredCall, MayBeAnsweredByItsHandlerAtOnce) {
  EchoServer server;
  EXPECT_TRUE(Await(server).get().status.ok());
}

TEST(DeferredCall, TakesTheFirstAnswerOnly) {
  Parked parked;
  EchoOptions options;
  options.handlers.await = parked.Handler();
  EchoServer server(std::move(options));
  auto answer = Await(server);
  ASSERT_TRUE(Eventually([&] { return parked.size() == 1; }));
  const auto done = parked.Take();
  std::vector<std::thread> racers;
  std::atomic<bool> go = false;
  for (int i = 0; i < 8; ++i) {
    racers.emplace_back([&, i] {
      while (!go) std::this_thread::yield();
      done[0](i % 2 == 0 ? StatusOr<echo::AwaitResponse>(Response(std::to_string(i)))
                         : StatusOr<echo::AwaitResponse>(FailedPrecondition("odd")));
    });
  }
  go = true;
  for (auto& racer : racers) racer.join();
  const Answer got = answer.get();
  EXPECT_TRUE(got.status.ok() || got.status.error_code() == grpc::FAILED_PRECONDITION);
  EXPECT_EQ(got.status.ok(), !got.response.text().empty());
}

TEST(DeferredCall, EndsAtItsDeadlineWhenNobodyEndsIt) {
  Parked parked;
  EchoOptions options;
  options.runtime.default_deadline = milliseconds(300);
  options.handlers.await = parked.Handler();
  EchoServer server(std::move(options));
  const Answer answer = Await(server).get();  // the caller's own deadline is two minutes
  EXPECT_EQ(answer.status.error_code(), grpc::DEADLINE_EXCEEDED);
  EXPECT_EQ(ReasonOf(rpc::FromGrpcStatus(answer.status, "echo")), Reason::kDeadlineTooShort);
  for (auto& done : parked.Take()) done(Response("too late"));
  EXPECT_EQ(server.Sample(kInFlight), 0);
}

TEST(DeferredCall, EndsWhenItsCompletionIsDropped) {
  EchoOptions options;
  options.handlers.await = [](const auto&, const auto&, const auto&) {};
  EchoServer server(std::move(options));
  EXPECT_EQ(Await(server).get().status.error_code(), grpc::INTERNAL);
}

TEST(DeferredCall, EndsWhenItsHandlerThrows) {
  Parked parked;
  EchoOptions options;
  options.handlers.await = [&](const rpc::CallContext& call, const echo::AwaitRequest& request,
                               const rpc::Completion<echo::AwaitResponse>& done) {
    parked.Handler()(call, request, done);
    throw std::runtime_error("after parking");
  };
  EchoServer server(std::move(options));
  EXPECT_EQ(Await(server).get().status.error_code(), grpc::INTERNAL);
  for (auto& done : parked.Take()) done(Response("ignored"));
}

TEST(DeferredCall, IsOverWhenItsCallerGoesAway) {
  Parked parked;
  EchoOptions options;
  options.handlers.await = parked.Handler();
  EchoServer server(std::move(options));
  const std::shared_ptr<grpc::ClientContext> context = ContextOf();
  auto answer = Await(server, context);
  ASSERT_TRUE(Eventually([&] { return parked.size() == 1; }));
  context->TryCancel();
  EXPECT_EQ(answer.get().status.error_code(), grpc::CANCELLED);
  EXPECT_TRUE(Eventually([&] { return server.Sample(kInFlight) == 0; }));
  for (auto& done : parked.Take()) done(Response("nobody listens"));
}

TEST(DeferredCall, WaitsForItsHandlerAlsoWhenItsCallerIsGone) {
  Gate gate;
  std::atomic<bool> read_request = false;
  EchoOptions options;
  options.handlers.await = [&](const rpc::CallContext& call, const echo::AwaitRequest& request,
                               const rpc::Completion<echo::AwaitResponse>&) {
    EXPECT_TRUE(Eventually([&] { return call.cancelled(); }));
    gate.Wait();
    read_request = request.text().empty();
  };
  EchoServer server(std::move(options));
  const std::shared_ptr<grpc::ClientContext> context = ContextOf();
  auto answer = Await(server, context);
  ASSERT_TRUE(Eventually([&] { return server.Sample(kInFlight) == 1; }));
  context->TryCancel();
  answer.get();
  ASSERT_TRUE(Eventually([&] { return gate.Waiting() == 1; }));
  EXPECT_EQ(server.Sample(kInFlight), 1);  // the request is still the handler's
  gate.Open();
  EXPECT_TRUE(Eventually([&] { return server.Sample(kInFlight) == 0; }));
  EXPECT_TRUE(read_request);
}

TEST(DeferredCall, IsRefusedBeyondTheLimitOfThoseThatWait) {
  Parked parked;
  EchoOptions options;
  options.runtime.max_waiting_calls = 2;
  options.handlers.await = parked.Handler();
  EchoServer server(std::move(options));
  auto first = Await(server);
  auto second = Await(server);
  ASSERT_TRUE(Eventually([&] { return parked.size() == 2; }));
  const Answer third = Await(server).get();
  EXPECT_EQ(third.status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(rpc::FromGrpcStatus(third.status, "echo")), Reason::kOverloaded);
  for (auto& done : parked.Take()) done(Response(""));
  EXPECT_TRUE(first.get().status.ok());
  EXPECT_TRUE(second.get().status.ok());
}

}  // namespace
}  // namespace winnow::test
