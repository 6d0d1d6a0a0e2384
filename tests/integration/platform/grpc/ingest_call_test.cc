#include "services/platform/grpc/call/ingest_call.h"

#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "services/platform/grpc/errors/error_exit.h"
#include "tests/support/grpc/echo_server.h"
#include "tests/support/sync/eventually.h"
#include "tests/support/sync/gate.h"

namespace winnow::test {
namespace {

using ::testing::HasSubstr;

using Stream = grpc::ClientReaderWriter<echo::TakeRequest, echo::TakeResponse>;

constexpr const char* kInFlight =
    "winnow_rpc_in_flight{method=\"winnow.test.v1.EchoService/Take\"}";

echo::TakeRequest Request(const std::string& text) {
  echo::TakeRequest request;
  request.set_text(text);
  return request;
}

std::vector<echo::TakeResponse> ReadAll(Stream& stream) {
  std::vector<echo::TakeResponse> responses;
  for (echo::TakeResponse response; stream.Read(&response);) responses.push_back(response);
  return responses;
}

// Sends `count` numbered messages while reading; the answers must be the same numbers.
void SendAndCheck(echo::EchoService::Stub& stub, int count) {
  const auto context = ContextOf();
  const std::unique_ptr<Stream> stream = stub.Take(context.get());
  std::thread writer([&] {
    for (int i = 0; i < count; ++i) EXPECT_TRUE(stream->Write(Request(std::to_string(i))));
    EXPECT_TRUE(stream->WritesDone());
  });
  const auto responses = ReadAll(*stream);
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
  ASSERT_EQ(responses.size(), static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(responses[static_cast<size_t>(i)].text(), std::to_string(i));
  }
}

TEST(IngestStream, AnswersEachMessageInOrder) {
  EchoServer server;
  SendAndCheck(server.stub(), 5000);
  const auto tcp = echo::EchoService::NewStub(server.NewTcpChannel());
  SendAndCheck(*tcp, 5000);
}

TEST(IngestStream, EndsWellWithoutAMessage) {
  EchoServer server;
  SendAndCheck(server.stub(), 0);
}

TEST(IngestStream, AnswersTheFirstMessageBeforeItWaitsForMore) {
  EchoServer server;
  const auto context = ContextOf();
  const auto stream = server.stub().Take(context.get());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(stream->Write(Request("one")));
    echo::TakeResponse response;
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.batch(), 1);
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST(IngestStream, AnswersAtOnceWhenTheFirstBatchIsLarge) {
  Gate gate;
  EchoOptions options;
  options.runtime.write_threads = 1;
  options.handlers.store = [&](const auto&, const auto&) -> StatusOr<echo::StoreResponse> {
    gate.Wait();
    return echo::StoreResponse();
  };
  EchoServer server(std::move(options));
  const auto stub = echo::EchoService::NewStub(server.NewTcpChannel());
  std::thread blocker([&] {
    echo::StoreResponse response;
    EXPECT_TRUE(stub->Store(ContextOf().get(), {}, &response).ok());
  });
  ASSERT_TRUE(Eventually([&] { return gate.Waiting() == 1; }));
  const auto context = ContextOf();
  const auto stream = stub->Take(context.get());
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(stream->Write(Request("x")));
  // An answer on the same connection: the messages have come too.
  echo::SayResponse said;
  ASSERT_TRUE(stub->Say(ContextOf().get(), {}, &said).ok());
  ASSERT_TRUE(
      Eventually([&] { return server.Sample("winnow_rpc_queue_depth{pool=\"write\"}") == 1; }));
  gate.Open();
  blocker.join();
  echo::TakeResponse response;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(stream->Read(&response));
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST(IngestStream, StopsReadingWhenTwoBatchesWait) {
  Gate gate;
  std::atomic<int> largest = 0;
  EchoOptions options;
  options.handlers.take = [&](const rpc::CallContext& call,
                              std::span<const echo::TakeRequest> requests) {
    gate.Wait();
    largest = std::max<int>(largest, static_cast<int>(requests.size()));
    return PlainEcho().take(call, requests);
  };
  EchoServer server(std::move(options));
  const auto context = ContextOf();
  const auto stream = server.stub().Take(context.get());
  std::atomic<int> sent = 0;
  // Each message is far larger than flow-control windows over the wire, so that what was sent is
  // what the server took, and a little more.
  const std::string ballast(64 * 1024, 'x');
  std::thread writer([&] {
    for (int i = 0; i < 1000; ++i) {
      if (!stream->Write(Request(ballast))) break;
      ++sent;
    }
    stream->WritesDone();
  });
  ASSERT_TRUE(Eventually([&] { return gate.Waiting() == 1; }));
  const auto stands_still = [&, last = -1, since = std::chrono::steady_clock::now()]() mutable {
    if (sent != last) {
      last = sent;
      since = std::chrono::steady_clock::now();
    }
    return std::chrono::steady_clock::now() - since > std::chrono::milliseconds(500);
  };
  ASSERT_TRUE(Eventually(stands_still));
  EXPECT_LT(sent * ballast.size(), 2 * rpc::kMaxIngestBytes + (size_t{8} << 20));
  gate.Open();
  EXPECT_EQ(ReadAll(*stream).size(), 1000U);
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_LE(largest, static_cast<int>(rpc::kMaxIngestBatch));
  EXPECT_GT(largest, 1);
}

TEST(IngestStream, HandsOverNoMoreThanABatchAtOnce) {
  Gate gate;
  std::vector<size_t> sizes;
  EchoOptions options;
  options.handlers.take = [&](const rpc::CallContext& call,
                              std::span<const echo::TakeRequest> requests) {
    gate.Wait();
    sizes.push_back(requests.size());
    return PlainEcho().take(call, requests);
  };
  EchoServer server(std::move(options));
  const auto context = ContextOf();
  const auto stream = server.stub().Take(context.get());
  std::thread writer([&] {
    for (int i = 0; i < 5000; ++i) stream->Write(Request(""));
    stream->WritesDone();
  });
  ASSERT_TRUE(Eventually([&] { return gate.Waiting() == 1; }));
  gate.Open();
  EXPECT_EQ(ReadAll(*stream).size(), 5000U);
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_THAT(sizes, ::testing::Each(::testing::Le(rpc::kMaxIngestBatch)));
}

TEST(IngestStream, EndsWithTheHandlersErrorAfterEarlierAnswers) {
  EchoOptions options;
  options.handlers.take =
      [](const rpc::CallContext& call,
         std::span<const echo::TakeRequest> requests) -> StatusOr<std::vector<echo::TakeResponse>> {
    if (requests[0].text() == "bad") {
      return Unavailable(Reason::kStoreUnavailable, "the store is away",
                         std::chrono::milliseconds(100));
    }
    return PlainEcho().take(call, requests);
  };
  EchoServer server(std::move(options));
  const auto context = ContextOf();
  const auto stream = server.stub().Take(context.get());
  ASSERT_TRUE(stream->Write(Request("good")));
  echo::TakeResponse response;
  ASSERT_TRUE(stream->Read(&response));
  stream->Write(Request("bad"));
  EXPECT_TRUE(ReadAll(*stream).empty());
  const Status status = rpc::FromGrpcStatus(stream->Finish(), "echo");
  EXPECT_EQ(ReasonOf(status), Reason::kStoreUnavailable);
}

TEST(IngestStream, MakesInternalOfAThrowOrAMissingAnswer) {
  EchoOptions options;
  options.handlers.take =
      [](const auto&,
         std::span<const echo::TakeRequest> requests) -> StatusOr<std::vector<echo::TakeResponse>> {
    if (requests[0].text() == "throw") throw std::runtime_error("x");
    return std::vector<echo::TakeResponse>();
  };
  EchoServer server(std::move(options));
  for (const char* text : {"throw", "missing"}) {
    const auto context = ContextOf();
    const auto stream = server.stub().Take(context.get());
    stream->Write(Request(text));
    EXPECT_TRUE(ReadAll(*stream).empty());
    EXPECT_EQ(stream->Finish().error_code(), grpc::INTERNAL);
  }
}

TEST(IngestStream, IsOverWhenItsCallerGoesAway) {
  Gate gate;
  EchoOptions options;
  options.handlers.take = [&](const rpc::CallContext& call,
                              std::span<const echo::TakeRequest> requests) {
    EXPECT_TRUE(Eventually([&] { return call.cancelled(); }));
    gate.Wait();
    return PlainEcho().take(call, requests);
  };
  EchoServer server(std::move(options));
  const auto context = ContextOf();
  const auto stream = server.stub().Take(context.get());
  for (int i = 0; i < 10; ++i) stream->Write(Request("x"));
  ASSERT_TRUE(Eventually([&] { return server.Sample(kInFlight) == 1; }));
  context->TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::CANCELLED);
  gate.Open();
  EXPECT_TRUE(Eventually([&] { return server.Sample(kInFlight) == 0; }));
}

TEST(IngestStream, IsRefusedBeyondTheLimitOfOpenOnes) {
  EchoOptions options;
  options.runtime.max_ingest_streams = 1;
  EchoServer server(std::move(options));
  const auto context = ContextOf();
  const auto open = server.stub().Take(context.get());
  open->Write(Request("x"));
  echo::TakeResponse response;
  ASSERT_TRUE(open->Read(&response));
  const auto second_context = ContextOf();
  const auto second = server.stub().Take(second_context.get());
  EXPECT_EQ(second->Finish().error_code(), grpc::RESOURCE_EXHAUSTED);
  open->WritesDone();
  EXPECT_TRUE(open->Finish().ok());
}

TEST(IngestStream, NamesTheMessageThatIsNoValidProtobuf) {
  EchoServer server;
  // As a sender that does not check its strings: the same method, by bytes.
  grpc::GenericStub raw(server.NewTcpChannel());
  const auto context = ContextOf();
  grpc::CompletionQueue queue;
  const auto stream = raw.PrepareCall(context.get(), "/winnow.test.v1.EchoService/Take", &queue);
  const auto step = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  stream->StartCall(nullptr);
  ASSERT_TRUE(step());
  const auto bytes = [](const std::string& text) {
    const std::string message = std::string("\x0a") + static_cast<char>(text.size()) + text;
    const grpc::Slice slice(message);
    return grpc::ByteBuffer(&slice, 1);
  };
  stream->Write(bytes("good"), nullptr);
  ASSERT_TRUE(step());
  stream->Write(bytes("\xff\xfe"), nullptr);
  ASSERT_TRUE(step());
  grpc::ByteBuffer response;
  stream->Read(&response, nullptr);
  EXPECT_TRUE(step());  // "good" is answered
  stream->Read(&response, nullptr);
  EXPECT_FALSE(step());
  grpc::Status status;
  stream->Finish(&status, nullptr);
  ASSERT_TRUE(step());
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("message 2 of the stream"));
  EXPECT_THAT(status.error_message(), HasSubstr("UTF-8"));
  queue.Shutdown();
}

TEST(IngestMessage, LooksUnreadOnlyUntilSomethingIsRead) {
  echo::TakeRequest message;
  message.set_text("old");
  rpc::MarkUnread(message);
  EXPECT_TRUE(rpc::IsUnread(message));
  EXPECT_TRUE(message.ParseFromString(""));
  EXPECT_FALSE(rpc::IsUnread(message));
  rpc::MarkUnread(message);
  EXPECT_FALSE(message.ParseFromString("\x0a\x02\xff\xfe"));
  EXPECT_FALSE(rpc::IsUnread(message));
}

}  // namespace
}  // namespace winnow::test
