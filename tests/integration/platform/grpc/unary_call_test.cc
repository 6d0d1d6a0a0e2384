#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>

#include "services/platform/grpc/errors/error_exit.h"
#include "tests/support/grpc/echo_server.h"
#include "tests/support/sync/eventually.h"
#include "tests/support/sync/gate.h"

namespace winnow::test {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSaySeries = "{method=\"winnow.test.v1.EchoService/Say\"";

struct Answer {
  grpc::Status status;
  echo::SayResponse response;
  Status ours() const { return rpc::FromGrpcStatus(status, "echo"); }
};

Answer Say(echo::EchoService::Stub& stub, const std::string& text,
           std::unique_ptr<grpc::ClientContext> context = ContextOf()) {
  echo::SayRequest request;
  request.set_text(text);
  Answer answer;
  answer.status = stub.Say(context.get(), request, &answer.response);
  return answer;
}

TEST(UnaryCall, AnswersInProcessAndOverTcp) {
  EchoServer server;
  EXPECT_EQ(Say(server.stub(), "안녕").response.text(), "안녕");
  const auto tcp = echo::EchoService::NewStub(server.NewTcpChannel());
  const Answer answer = Say(*tcp, "hello");
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.response.text(), "hello");
  EXPECT_EQ(answer.response.caller(), "anonymous");
}

// The bytes as any program may send them: gRPC cannot parse them, and no handler sees them.
grpc::Status SendBytes(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                       const std::string& sent) {
  const grpc::Slice slice(sent);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  const auto context = ContextOf();
  std::promise<grpc::Status> ended;
  grpc::GenericStub(channel).UnaryCall(context.get(), method, {}, &request, &response,
                                       [&](grpc::Status status) { ended.set_value(status); });
  return ended.get_future().get();
}

TEST(UnaryCall, BytesThatAreNoRequestAreRefusedByName) {
  EchoServer server;
  const auto channel = server.NewTcpChannel();
  for (const std::string& bytes : {std::string("\x0a\x02\xff\xfe"), std::string("\x0a\x7f")}) {
    const Status ours =
        rpc::FromGrpcStatus(SendBytes(channel, "/winnow.test.v1.EchoService/Say", bytes), "echo");
    EXPECT_EQ(ours.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(ReasonOf(ours), Reason::kInvalidField);
    EXPECT_THAT(Message(ours), HasSubstr("UTF-8"));
  }
}

TEST(UnaryCall, AMethodThatTheServerDoesNotHaveIsUnimplemented) {
  EchoServer server;
  const auto channel = server.NewTcpChannel();
  for (const char* method :
       {"/winnow.test.v1.EchoService/Nothing", "/winnow.collector.v1.CollectorService/GetItem"}) {
    EXPECT_EQ(SendBytes(channel, method, "").error_code(), grpc::StatusCode::UNIMPLEMENTED);
  }
}

TEST(UnaryCall, KeepsASaneRequestIdAndMakesOneElse) {
  EchoServer server;
  auto context = ContextOf();
  context->AddMetadata("x-request-id", "client-42");
  EXPECT_EQ(Say(server.stub(), "", std::move(context)).response.request_id(), "client-42");
  for (const std::string& insane :
       {std::string(129, 'x'), std::string("a b"), std::string("a\"b")}) {
    context = ContextOf();
    context->AddMetadata("x-request-id", insane);
    const std::string made = Say(server.stub(), "", std::move(context)).response.request_id();
    EXPECT_EQ(made.size(), 36U) << made;
  }
  EXPECT_NE(Say(server.stub(), "").response.request_id(),
            Say(server.stub(), "").response.request_id());
}

TEST(UnaryCall, GoesOnWithTheCallersTrace) {
  EchoServer server;
  auto context = ContextOf();
  context->AddMetadata("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  EXPECT_EQ(Say(server.stub(), "", std::move(context)).response.trace_id(),
            "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(Say(server.stub(), "").response.trace_id().size(), 32U);
}

TEST(UnaryCall, HasTheDefaultDeadlineAndNoLongerOne) {
  EchoOptions options;
  options.runtime.default_deadline = milliseconds(5000);
  EchoServer server(std::move(options));
  const auto without = std::make_unique<grpc::ClientContext>();
  echo::SayResponse response;
  ASSERT_TRUE(server.stub().Say(without.get(), {}, &response).ok());
  EXPECT_LE(response.left_ms(), 5000);
  EXPECT_GT(response.left_ms(), 0);
  EXPECT_LE(Say(server.stub(), "", ContextOf(std::chrono::hours(1))).response.left_ms(), 5000);
}

TEST(UnaryCall, AnswersTheHandlersErrorWithItsDetails) {
  EchoOptions options;
  options.handlers.say = [](const auto&, const auto&) -> StatusOr<echo::SayResponse> {
    return NotFound("item", "17");
  };
  EchoServer server(std::move(options));
  const Answer answer = Say(server.stub(), "x");
  EXPECT_EQ(answer.status.error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(ReasonOf(answer.ours()), Reason::kResourceNotFound);
  EXPECT_EQ(server.Sample(std::string("winnow_rpc_requests_total{code=\"NOT_FOUND\",") +
                          (kSaySeries + 1) + "}"),
            1);
}

TEST(UnaryCall, LogsWhichFieldsWereWrongAndNotWhatTheyHeld) {
  EchoOptions options;
  options.handlers.say = [](const auto&, const auto&) -> StatusOr<echo::SayResponse> {
    return InvalidArgument({{"title", "is \"Confidential\""}, {"url", "is no URL"}});
  };
  EchoServer server(std::move(options));
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(Say(server.stub(), "").status.error_message(), HasSubstr("Confidential"));
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("invalid: title url"));
  EXPECT_THAT(log, Not(HasSubstr("Confidential")));
}

TEST(UnaryCall, BringsAThousandViolationsThroughTrailers) {
  EchoOptions options;
  options.handlers.say = [](const auto&, const auto&) -> StatusOr<echo::SayResponse> {
    Violations violations;
    for (int i = 0; i < 1000; ++i) {
      violations.Add("items[" + std::to_string(i) + "].title",
                     "제목은 1자에서 1,000자까지입니다: 비어 있습니다");
    }
    return violations.ToStatus();
  };
  EchoServer server(std::move(options));
  const auto tcp = echo::EchoService::NewStub(server.NewTcpChannel());
  const Answer answer = Say(*tcp, "x");
  EXPECT_EQ(answer.status.error_code(), grpc::INVALID_ARGUMENT) << answer.status.error_message();
  const auto violations = ViolationsOf(answer.ours());
  ASSERT_GT(violations.size(), 10U);
  EXPECT_THAT(violations.back().description, HasSubstr("more violations"));
}

TEST(UnaryCall, MakesInternalOfWhatTheHandlerThrows) {
  EchoOptions options;
  options.handlers.say = [](const auto&,
                            const echo::SayRequest& request) -> StatusOr<echo::SayResponse> {
    if (request.text() == "int") throw 7;
    throw std::runtime_error("the secret of " + request.text());
  };
  EchoServer server(std::move(options));
  for (const char* text : {"int", "error"}) {
    const Answer answer = Say(server.stub(), text);
    EXPECT_EQ(answer.status.error_code(), grpc::INTERNAL);
    EXPECT_THAT(answer.status.error_message(), Not(HasSubstr("secret")));
    EXPECT_THAT(answer.status.error_message(), HasSubstr("request id"));
  }
}

TEST(UnaryCall, IsRefusedWhenTooLittleTimeIsLeft) {
  Gate gate;
  std::atomic<int> handled = 0;
  EchoOptions options;
  options.runtime.read_threads = 1;
  options.handlers.say = [&](const auto&, const auto&) -> StatusOr<echo::SayResponse> {
    ++handled;
    gate.Wait();
    return echo::SayResponse();
  };
  EchoServer server(std::move(options));
  std::thread blocker([&] { Say(server.stub(), "holds the only thread"); });
  ASSERT_TRUE(Eventually([&] { return gate.Waiting() == 1; }));
  // Waits in the queue until its time is up; the handler never sees it.
  const Answer late = Say(server.stub(), "late", ContextOf(milliseconds(200)));
  EXPECT_EQ(late.status.error_code(), grpc::DEADLINE_EXCEEDED);
  gate.Open();
  blocker.join();
  const Answer hurried = Say(server.stub(), "", ContextOf(milliseconds(15)));
  EXPECT_EQ(hurried.status.error_code(), grpc::DEADLINE_EXCEEDED);
  // The queue's order: what comes last runs last, so the refused ones are done with.
  EXPECT_TRUE(Say(server.stub(), "").status.ok());
  EXPECT_EQ(handled, 2);
}

TEST(UnaryCall, TellsTheHandlerThatItsCallerWentAway) {
  std::atomic<bool> noticed = false;
  EchoOptions options;
  options.handlers.say = [&](const rpc::CallContext& call, const auto&) {
    noticed = Eventually([&] { return call.cancelled(); });
    return StatusOr<echo::SayResponse>(rpc::FromGrpcStatus(grpc::Status::CANCELLED, "test"));
  };
  EchoServer server(std::move(options));
  const auto context = ContextOf();
  std::thread caller([&] {
    echo::SayResponse response;
    EXPECT_EQ(server.stub().Say(context.get(), {}, &response).error_code(), grpc::CANCELLED);
  });
  const std::string in_flight = std::string("winnow_rpc_in_flight") + kSaySeries + "}";
  ASSERT_TRUE(Eventually([&] { return server.Sample(in_flight) == 1; }));
  context->TryCancel();
  caller.join();
  EXPECT_TRUE(Eventually([&] { return noticed.load(); }));
  EXPECT_TRUE(Eventually([&] { return server.Sample(in_flight) == 0; }));
}

TEST(UnaryCall, CountsAndTimesEachCallOnce) {
  EchoServer server;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Say(server.stub(), "x").status.ok());
  const std::string ok =
      std::string("winnow_rpc_requests_total{code=\"OK\",") + (kSaySeries + 1) + "}";
  EXPECT_EQ(server.Sample(ok), 5);
  EXPECT_EQ(server.Sample(std::string("winnow_rpc_duration_seconds_count") + kSaySeries + "}"), 5);
  EXPECT_EQ(server.Sample(std::string("winnow_rpc_in_flight") + kSaySeries + "}"), 0);
  EXPECT_EQ(server.Sample("winnow_rpc_queue_depth{pool=\"read\"}"), 0);
}

TEST(InlineCall, NeedsNoPoolAndIsGuardedLikeAnyOther) {
  Gate gate;
  EchoOptions options;
  options.runtime.read_threads = 1;
  options.handlers.say = [&](const auto&, const auto&) -> StatusOr<echo::SayResponse> {
    gate.Wait();
    return echo::SayResponse();
  };
  options.handlers.ping = [](const auto&,
                             const echo::PingRequest& request) -> StatusOr<echo::PingResponse> {
    if (request.text() == "throw") throw std::runtime_error("x");
    if (request.text() == "fail") return NotFound("item", "1");
    return echo::PingResponse();
  };
  EchoServer server(std::move(options));
  std::thread blocker([&] { Say(server.stub(), "holds the only thread"); });
  ASSERT_TRUE(Eventually([&] { return gate.Waiting() == 1; }));
  echo::PingRequest request;
  echo::PingResponse response;
  EXPECT_TRUE(server.stub().Ping(ContextOf().get(), request, &response).ok());
  request.set_text("throw");
  EXPECT_EQ(server.stub().Ping(ContextOf().get(), request, &response).error_code(), grpc::INTERNAL);
  request.set_text("fail");
  EXPECT_EQ(server.stub().Ping(ContextOf().get(), request, &response).error_code(),
            grpc::NOT_FOUND);
  gate.Open();
  blocker.join();
}

TEST(Overload, IsRefusedWithAHintAndSparesTheOtherLane) {
  Gate gate;
  EchoOptions options;
  options.runtime.write_threads = 1;
  options.runtime.queue_limit = 10;
  options.handlers.store = [&](const auto&, const auto&) -> StatusOr<echo::StoreResponse> {
    gate.Wait();
    return echo::StoreResponse();
  };
  EchoServer server(std::move(options));
  std::atomic<int> stored = 0;
  std::atomic<int> refused = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 40; ++i) {
    if (i == 1) {
      EXPECT_TRUE(Eventually([&] { return gate.Waiting() == 1; })) << "the first one runs";
    }
    callers.emplace_back([&] {
      echo::StoreResponse response;
      const grpc::Status status = server.stub().Store(ContextOf().get(), {}, &response);
      if (status.ok()) {
        ++stored;
        return;
      }
      const Status ours = rpc::FromGrpcStatus(status, "echo");
      EXPECT_EQ(ours.code(), StatusCode::kResourceExhausted);
      EXPECT_EQ(ReasonOf(ours), Reason::kOverloaded);
      EXPECT_TRUE(RetryAfterOf(ours).has_value());
      ++refused;
    });
  }
  // One runs, ten wait, the rest is refused at once.
  EXPECT_TRUE(Eventually([&] { return refused == 29; }));
  EXPECT_TRUE(Say(server.stub(), "reads go on").status.ok());
  gate.Open();
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(stored, 11);
  EXPECT_EQ(refused, 29);
}

}  // namespace
}  // namespace winnow::test
