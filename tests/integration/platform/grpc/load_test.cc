#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "tests/support/grpc/echo_server.h"
#include "tests/support/sync/eventually.h"

namespace winnow::test {
namespace {

// Answers long polls and feeds watches until it is destroyed, as a worker would.
class Feeder {
 public:
  Feeder() : thread_([this] { Loop(); }) {}
  ~Feeder() {
    stop_ = true;
    thread_.join();
    for (const auto& subscriber : subscribers_) subscriber.End(OkStatus());
  }
  void Add(rpc::Subscriber<echo::WatchResponse> subscriber) {
    const std::lock_guard lock(mutex_);
    subscribers_.push_back(std::move(subscriber));
  }
  void Add(rpc::Completion<echo::AwaitResponse> done) {
    const std::lock_guard lock(mutex_);
    parked_.push_back(std::move(done));
  }

 private:
  void Loop() {
    for (int64_t position = 0; !stop_; ++position) {
      std::vector<rpc::Completion<echo::AwaitResponse>> parked;
      {
        const std::lock_guard lock(mutex_);
        parked.swap(parked_);
        echo::WatchResponse entry;
        entry.set_position(position);
        std::erase_if(subscribers_, [&](const auto& each) { return !each.Send(entry); });
      }
      for (const auto& done : parked) done(echo::AwaitResponse());
      std::this_thread::yield();
    }
  }

  std::mutex mutex_;
  std::vector<rpc::Subscriber<echo::WatchResponse>> subscribers_;
  std::vector<rpc::Completion<echo::AwaitResponse>> parked_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// Reads `count` entries without a gap, then goes away.
void Watch(echo::EchoService::Stub& stub, int count) {
  const auto context = ContextOf();
  const auto reader = stub.Watch(context.get(), {});
  echo::WatchResponse entry;
  int64_t expected = -1;
  for (int i = 0; i < count && reader->Read(&entry); ++i) {
    if (expected >= 0) {
      ASSERT_EQ(entry.position(), expected);
    }
    expected = entry.position() + 1;
  }
  context->TryCancel();
  reader->Finish();
}

void Ingest(echo::EchoService::Stub& stub, int count) {
  const auto context = ContextOf();
  const auto stream = stub.Take(context.get());
  std::thread writer([&] {
    echo::TakeRequest request;
    for (int i = 0; i < count; ++i) {
      request.set_text(std::to_string(i));
      stream->Write(request);
    }
    stream->WritesDone();
  });
  echo::TakeResponse response;
  int got = 0;
  for (; stream->Read(&response); ++got) ASSERT_EQ(response.text(), std::to_string(got));
  writer.join();
  const grpc::Status status = stream->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(got, count);
}

TEST(AllShapes, HoldUnderConcurrentLoad) {
  Feeder feeder;
  EchoOptions options;
  options.handlers.watch = [&](const auto&, const auto&, const auto& subscriber) {
    feeder.Add(subscriber);
    return OkStatus();
  };
  options.handlers.await = [&](const auto&, const auto&, const auto& done) { feeder.Add(done); };
  EchoServer server(std::move(options));
  std::atomic<int> said = 0;
  std::atomic<int> awaited = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      const auto stub = echo::EchoService::NewStub(server.NewTcpChannel());
      for (int i = 0; i < 300; ++i) {
        echo::SayResponse response;
        const grpc::Status status = stub->Say(ContextOf().get(), {}, &response);
        EXPECT_TRUE(status.ok()) << status.error_message();
        said += status.ok() ? 1 : 0;
        if (i % 10 == 0) {  // some go away in the middle
          const auto context = ContextOf();
          context->TryCancel();
          stub->Say(context.get(), {}, &response);
        }
      }
    });
    callers.emplace_back([&] {
      const auto stub = echo::EchoService::NewStub(server.NewTcpChannel());
      for (int i = 0; i < 100; ++i) {
        echo::AwaitResponse response;
        awaited += stub->Await(ContextOf().get(), {}, &response).ok() ? 1 : 0;
      }
    });
    callers.emplace_back(
        [&] { Ingest(*echo::EchoService::NewStub(server.NewTcpChannel()), 3000); });
    callers.emplace_back([&] {
      const auto stub = echo::EchoService::NewStub(server.NewTcpChannel());
      for (int i = 0; i < 5; ++i) Watch(*stub, 200);
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(said, 4 * 300);
  EXPECT_EQ(awaited, 4 * 100);
  for (const char* method : {"Say", "Await", "Take", "Watch"}) {
    const std::string series = std::string("winnow_rpc_in_flight{method=\"winnow.test.v1.") +
                               "EchoService/" + method + "\"}";
    EXPECT_TRUE(Eventually([&] { return server.Sample(series) == 0; })) << method;
  }
}

TEST(Overload, FloodsAreRefusedAndTheRestIsAnswered) {
  EchoOptions options;
  options.runtime.read_threads = 2;
  options.runtime.queue_limit = 50;
  EchoServer server(std::move(options));
  const auto stub = echo::EchoService::NewStub(server.NewTcpChannel());
  constexpr int kCalls = 5000;
  struct Call {
    grpc::ClientContext context;
    echo::SayRequest request;
    echo::SayResponse response;
  };
  std::vector<Call> calls(kCalls);
  std::atomic<int> ok = 0;
  std::atomic<int> refused = 0;
  std::atomic<int> other = 0;
  for (Call& call : calls) {
    stub->async()->Say(&call.context, &call.request, &call.response, [&](const grpc::Status& s) {
      ++(s.ok() ? ok : s.error_code() == grpc::RESOURCE_EXHAUSTED ? refused : other);
    });
  }
  ASSERT_TRUE(Eventually([&] { return ok + refused + other == kCalls; }));
  EXPECT_EQ(other, 0);
  EXPECT_GT(ok, 0);
  echo::SayResponse response;
  EXPECT_TRUE(stub->Say(ContextOf().get(), {}, &response).ok());
}

}  // namespace
}  // namespace winnow::test
