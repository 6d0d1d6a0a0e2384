#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "services/platform/grpc/call/ingest_call.h"
#include "services/platform/grpc/errors/error_exit.h"
#include "tests/support/grpc/echo_server.h"
#include "tests/support/sync/eventually.h"
#include "tests/support/sync/gate.h"

// Ingest streams share places and memory.
namespace winnow::test {
namespace {

using Stream = grpc::ClientReaderWriter<echo::TakeRequest, echo::TakeResponse>;

constexpr const char* kBytes = R"(winnow_rpc_stream_bytes{kind="ingest"})";

echo::TakeRequest Request(size_t bytes) {
  echo::TakeRequest request;
  request.set_text(std::string(bytes, 'x'));
  return request;
}

// A stream and what it needs.
struct Open {
  explicit Open(echo::EchoService::Stub& stub)
      : context(ContextOf()), stream(stub.Take(context.get())) {}
  bool Say() {
    echo::TakeResponse response;
    return stream->Write(Request(1)) && stream->Read(&response);
  }
  Status End() { return rpc::FromGrpcStatus(stream->Finish(), "echo"); }

  std::unique_ptr<grpc::ClientContext> context;
  std::unique_ptr<Stream> stream;
};

EchoOptions GatedBy(Gate& gate) {
  EchoOptions options;
  options.handlers.take = [&gate](const rpc::CallContext& call,
                                  std::span<const echo::TakeRequest> requests) {
    gate.Wait();
    return PlainEcho().take(call, requests);
  };
  return options;
}

TEST(IngestRoom, SilentStreamsKeepNobodyOut) {
  EchoOptions options;
  options.runtime.max_ingest_streams = 3;
  options.runtime.ingest_idle_timeout = std::chrono::milliseconds(1);
  EchoServer server(std::move(options));
  std::vector<std::unique_ptr<Open>> silent;
  for (int i = 0; i < 3; ++i) {
    silent.push_back(std::make_unique<Open>(server.stub()));
    ASSERT_TRUE(silent.back()->Say());
  }
  ASSERT_TRUE(Eventually([&] { return Open(server.stub()).Say(); }));
  // The one that was silent longest got the error.
  const Status reported = silent.front()->End();
  EXPECT_EQ(reported.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(reported), Reason::kOverloaded);
  EXPECT_THAT(Message(reported), testing::HasSubstr("silent"));
  EXPECT_TRUE(RetryAfterOf(reported).has_value());
}

TEST(IngestRoom, AStreamWhoseMessagesAreBeingHandledIsNotSilent) {
  Gate gate;
  EchoOptions options = GatedBy(gate);
  options.runtime.max_ingest_streams = 1;
  options.runtime.ingest_idle_timeout = std::chrono::milliseconds(0);
  EchoServer server(std::move(options));
  Open busy(server.stub());
  ASSERT_TRUE(busy.stream->Write(Request(1)));
  ASSERT_TRUE(Eventually([&] { return gate.Waiting() == 1; }));
  const Status refused = Open(server.stub()).End();
  EXPECT_EQ(ReasonOf(refused), Reason::kOverloaded) << refused;
  gate.Open();
  busy.stream->WritesDone();
  echo::TakeResponse response;
  EXPECT_TRUE(busy.stream->Read(&response));
}

TEST(IngestRoom, ManyStreamsTogetherHoldNoMoreThanTheirMemory) {
  constexpr size_t kBudget = size_t{4} << 20;
  constexpr size_t kMessage = 64 << 10;
  constexpr int kStreams = 24;
  constexpr int kMessages = 60;
  Gate gate;
  EchoOptions options = GatedBy(gate);
  options.runtime.stream_memory_bytes = kBudget;
  EchoServer server(std::move(options));
  std::vector<std::unique_ptr<Open>> streams;
  for (int i = 0; i < kStreams; ++i) streams.push_back(std::make_unique<Open>(server.stub()));
  std::vector<std::thread> writers;
  for (const auto& each : streams) {
    writers.emplace_back([stream = each->stream.get()] {
      for (int i = 0; i < kMessages; ++i) EXPECT_TRUE(stream->Write(Request(kMessage)));
      stream->WritesDone();
    });
  }
  // More than it may be is sent; it stops in time. All is taken and answered in the end.
  EXPECT_TRUE(Eventually([&] { return 4 * server.Sample(kBytes) > kBudget; }));
  std::atomic<bool> done = false;
  double most = 0;
  std::thread meter([&] {
    while (!done) most = std::max(most, server.Sample(kBytes));
  });
  gate.Open();
  for (const auto& each : streams) {
    int answers = 0;
    for (echo::TakeResponse response; each->stream->Read(&response);) ++answers;
    EXPECT_EQ(answers, kMessages);
    EXPECT_TRUE(each->stream->Finish().ok());
  }
  for (std::thread& writer : writers) writer.join();
  done = true;
  meter.join();
  EXPECT_LE(most, static_cast<double>(kBudget + 2 * kStreams * (kMessage + 16)));
  EXPECT_EQ(server.Sample(kBytes), 0);
}

}  // namespace
}  // namespace winnow::test
