#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "services/platform/grpc/errors/error_exit.h"
#include "tests/support/grpc/echo_server.h"
#include "tests/support/sync/eventually.h"

namespace winnow::test {
namespace {

using std::chrono::milliseconds;

constexpr const char* kInFlight =
    "winnow_rpc_in_flight{method=\"winnow.test.v1.EchoService/Watch\"}";

using Subscriber = rpc::Subscriber<echo::WatchResponse>;

// Subscribers that handlers registered.
class Subscribers {
 public:
  auto Handler() {
    return [this](const rpc::CallContext&, const echo::WatchRequest&, Subscriber subscriber) {
      const std::lock_guard lock(mutex_);
      all_.push_back(std::move(subscriber));
      return OkStatus();
    };
  }
  Subscriber First() {
    EXPECT_TRUE(Eventually([&] {
      const std::lock_guard lock(mutex_);
      return !all_.empty();
    }));
    const std::lock_guard lock(mutex_);
    return all_.at(0);
  }
  // Those that were registered, once there are `count`.
  std::vector<Subscriber> Take(size_t count) {
    EXPECT_TRUE(Eventually([&] {
      const std::lock_guard lock(mutex_);
      return all_.size() == count;
    }));
    const std::lock_guard lock(mutex_);
    return std::exchange(all_, {});
  }
  void Clear() {
    const std::lock_guard lock(mutex_);
    all_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<Subscriber> all_;
};

echo::WatchResponse Entry(int64_t position, size_t ballast = 0) {
  echo::WatchResponse response;
  response.set_position(position);
  response.set_text(std::string(ballast, 'x'));
  return response;
}

std::vector<int64_t> ReadAll(grpc::ClientReader<echo::WatchResponse>& reader) {
  std::vector<int64_t> positions;
  for (echo::WatchResponse response; reader.Read(&response);) {
    positions.push_back(response.position());
  }
  return positions;
}

TEST(Watch, GetsEverythingInOrderAndEndsInPeace) {
  Subscribers subscribers;
  EchoOptions options;
  options.handlers.watch = subscribers.Handler();
  EchoServer server(std::move(options));
  const auto context = ContextOf();
  const auto reader = server.stub().Watch(context.get(), {});
  const Subscriber subscriber = subscribers.First();
  for (int i = 0; i < 500; ++i) EXPECT_TRUE(subscriber.Send(Entry(i)));
  subscriber.End(OkStatus());
  EXPECT_FALSE(subscriber.Send(Entry(500)));
  EXPECT_TRUE(subscriber.Ended());
  const auto positions = ReadAll(*reader);
  ASSERT_EQ(positions.size(), 500U);
  EXPECT_TRUE(std::is_sorted(positions.begin(), positions.end()));
  EXPECT_TRUE(reader->Finish().ok());
}

TEST(Watch, EndsWithTheErrorOfItsStart) {
  EchoOptions options;
  options.handlers.watch = [](const auto&, const auto&, const auto& subscriber) {
    subscriber.Send(Entry(1));
    return InvalidPageToken("is malformed");
  };
  EchoServer server(std::move(options));
  const auto context = ContextOf();
  const auto reader = server.stub().Watch(context.get(), {});
  ReadAll(*reader);
  EXPECT_EQ(ReasonOf(rpc::FromGrpcStatus(reader->Finish(), "echo")), Reason::kInvalidPageToken);
}

TEST(Watch, EndsWhenItsStartThrowsOrItsSubscriberIsDropped) {
  bool throws = false;
  EchoOptions options;
  options.handlers.watch = [&](const auto&, const auto&, const auto&) {
    if (throws) throw std::runtime_error("x");
    return OkStatus();
  };
  EchoServer server(std::move(options));
  for (int i = 0; i < 2; ++i) {
    const auto context = ContextOf();
    const auto reader = server.stub().Watch(context.get(), {});
    EXPECT_EQ(reader->Finish().error_code(), grpc::INTERNAL);
    throws = true;
  }
}

TEST(Watch, TellsAReaderThatFellBehindOfItsGap) {
  Subscribers subscribers;
  EchoOptions options;
  options.handlers.watch = subscribers.Handler();
  EchoServer server(std::move(options));
  const auto stub = echo::EchoService::NewStub(server.NewTcpChannel());
  const auto context = ContextOf();
  const auto reader = stub->Watch(context.get(), {});
  const Subscriber subscriber = subscribers.First();
  int64_t sent = 0;
  while (subscriber.Send(Entry(sent, 4000)) && sent < 1'000'000) ++sent;
  EXPECT_GE(sent, static_cast<int64_t>(rpc::kMaxWatchQueue));
  ASSERT_LT(sent, 1'000'000);
  // What had left the queue is read, without a hole; then the end says why.
  const auto positions = ReadAll(*reader);
  EXPECT_LT(static_cast<int64_t>(positions.size()), sent);
  for (size_t i = 0; i < positions.size(); ++i) {
    ASSERT_EQ(positions[i], static_cast<int64_t>(i));
  }
  const Status status = rpc::FromGrpcStatus(reader->Finish(), "echo");
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(status), Reason::kReaderTooSlow);
}

TEST(Watch, IsBoundedByBytesToo) {
  Subscribers subscribers;
  EchoOptions options;
  options.handlers.watch = subscribers.Handler();
  EchoServer server(std::move(options));
  const auto stub = echo::EchoService::NewStub(server.NewTcpChannel());
  const auto context = ContextOf();
  const auto reader = stub->Watch(context.get(), {});
  const Subscriber subscriber = subscribers.First();
  int sent = 0;
  while (subscriber.Send(Entry(sent, 1 << 20)) && sent < 500) ++sent;
  EXPECT_LT(sent, 100);
  context->TryCancel();
}

TEST(Watch, ManySlowReadersTakeNoMoreMemoryThanAllMayAndAQuickOneGoesOn) {
  constexpr size_t kBudget = size_t{4} << 20;
  constexpr size_t kSlow = 40;
  Subscribers subscribers;
  EchoOptions options;
  options.runtime.stream_memory_bytes = kBudget;
  options.runtime.slow_reader_grace = std::chrono::minutes(10);
  options.handlers.watch = subscribers.Handler();
  EchoServer server(std::move(options));
  const auto stub = echo::EchoService::NewStub(server.NewTcpChannel());
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<echo::WatchResponse>>> slow;
  for (size_t i = 0; i < kSlow; ++i) {
    slow.push_back(stub->Watch(contexts.emplace_back(ContextOf()).get(), {}));
  }
  const std::vector<Subscriber> watched = subscribers.Take(kSlow);
  const auto quick_context = ContextOf();
  const auto quick = server.stub().Watch(quick_context.get(), {});
  const Subscriber reader = subscribers.Take(1).front();

  double most = 0;
  std::vector<bool> open(kSlow, true);
  for (int64_t sent = 0; sent < 2000; ++sent) {
    for (size_t i = 0; i < kSlow; ++i) open[i] = open[i] && watched[i].Send(Entry(sent, 16'000));
    most = std::max(most, server.Sample(R"(winnow_rpc_stream_bytes{kind="watch"})"));
    ASSERT_TRUE(reader.Send(Entry(sent, 16'000)));
    echo::WatchResponse response;
    ASSERT_TRUE(quick->Read(&response));
    EXPECT_EQ(response.position(), sent);
  }
  EXPECT_LE(most, static_cast<double>(kBudget) + kSlow * 20'000);
  EXPECT_EQ(std::count(open.begin(), open.end(), true), 0);
  for (const auto& each : slow) {
    ReadAll(*each);
    EXPECT_EQ(ReasonOf(rpc::FromGrpcStatus(each->Finish(), "echo")), Reason::kReaderTooSlow);
  }
  EXPECT_EQ(server.Sample(R"(winnow_rpc_stream_bytes{kind="watch"})"), 0);
  quick_context->TryCancel();
}

TEST(Watch, OfAReaderThatNeverReadsIsCutAfterAGrace) {
  Subscribers subscribers;
  EchoOptions options;
  options.runtime.slow_reader_grace = milliseconds(100);
  options.handlers.watch = subscribers.Handler();
  EchoServer server(std::move(options));
  const auto stub = echo::EchoService::NewStub(server.NewTcpChannel());
  const auto context = ContextOf();
  const auto reader = stub->Watch(context.get(), {});
  const Subscriber subscriber = subscribers.First();
  for (int i = 0; i < 1'000'000 && subscriber.Send(Entry(i, 4000)); ++i) continue;
  EXPECT_TRUE(Eventually([&] { return server.Sample(kInFlight) == 0; }));
}

TEST(Watch, IsOverWhenItsCallerGoesAway) {
  Subscribers subscribers;
  EchoOptions options;
  options.handlers.watch = subscribers.Handler();
  EchoServer server(std::move(options));
  const auto context = ContextOf();
  const auto reader = server.stub().Watch(context.get(), {});
  const Subscriber subscriber = subscribers.First();
  EXPECT_TRUE(subscriber.Send(Entry(1)));
  context->TryCancel();
  EXPECT_TRUE(Eventually([&] { return subscriber.Ended(); }));
  EXPECT_FALSE(subscriber.Send(Entry(2)));
  EXPECT_TRUE(Eventually([&] { return server.Sample(kInFlight) == 0; }));
}

TEST(Watch, MayBeFedByManyThreadsAtOnce) {
  Subscribers subscribers;
  EchoOptions options;
  options.handlers.watch = subscribers.Handler();
  EchoServer server(std::move(options));
  const auto context = ContextOf();
  const auto reader = server.stub().Watch(context.get(), {});
  {
    const Subscriber subscriber = subscribers.First();
    std::vector<std::thread> feeders;
    for (int thread = 0; thread < 4; ++thread) {
      feeders.emplace_back([&subscriber] {
        for (int i = 0; i < 200; ++i) EXPECT_TRUE(subscriber.Send(Entry(i)));
      });
    }
    for (auto& feeder : feeders) feeder.join();
    subscriber.End(FailedPrecondition("done"));
  }
  EXPECT_EQ(ReadAll(*reader).size(), 800U);
  EXPECT_EQ(reader->Finish().error_code(), grpc::FAILED_PRECONDITION);
}

}  // namespace
}  // namespace winnow::test
