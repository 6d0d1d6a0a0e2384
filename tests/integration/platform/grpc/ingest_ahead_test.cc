#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/grpc/echo_server.h"
#include "tests/support/sync/eventually.h"

// Ingest handlers whose batches go on elsewhere.
namespace winnow::test {
namespace {

using Stream = grpc::ClientReaderWriter<echo::TakeRequest, echo::TakeResponse>;

constexpr const char* kInFlight =
    "winnow_rpc_in_flight{method=\"winnow.test.v1.EchoService/Take\"}";

void Send(Stream& stream, const std::string& text) {
  echo::TakeRequest request;
  request.set_text(text);
  ASSERT_TRUE(stream.Write(request));
}

std::vector<std::string> ReadAll(Stream& stream) {
  std::vector<std::string> texts;
  for (echo::TakeResponse response; stream.Read(&response);) texts.push_back(response.text());
  return texts;
}

// Batches that are begun, and become ready when a test says so; by the text of their first message.
class Elsewhere {
 public:
  StatusOr<rpc::IngestAnswers<echo::TakeResponse>> Begin(
      std::span<const echo::TakeRequest> requests, std::function<void()> ready) {
    if (requests[0].text() == "refused") {
      return Unavailable(Reason::kStoreUnavailable, "x", std::chrono::milliseconds(1));
    }
    std::vector<echo::TakeResponse> answers;
    for (const auto& request : requests) answers.emplace_back().set_text(request.text());
    {
      std::lock_guard lock(mutex_);
      begun_[requests[0].text()] = std::move(ready);
    }
    return rpc::IngestAnswers<echo::TakeResponse>(
        [answers]() -> StatusOr<std::vector<echo::TakeResponse>> {
          if (answers[0].text() == "fails") return Internal("x");
          return answers;
        });
  }
  bool IsBegun(const std::string& text) const {
    std::lock_guard lock(mutex_);
    return begun_.contains(text);
  }
  void EndAll() {
    std::map<std::string, std::function<void()>> begun;
    {
      std::lock_guard lock(mutex_);
      begun.swap(begun_);
    }
    for (auto& [text, ready] : begun) ready();
  }
  void End(const std::string& text) {
    std::function<void()> ready;
    {
      std::lock_guard lock(mutex_);
      ready = std::move(begun_.at(text));
      begun_.erase(text);
    }
    ready();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::function<void()>> begun_;
};

class IngestAhead : public ::testing::Test {
 protected:
  IngestAhead() : server_(Options()) {}
  ~IngestAhead() override { elsewhere_.EndAll(); }

  EchoOptions Options() {
    EchoOptions options;
    options.handlers.take_ahead = [this](const rpc::CallContext&, auto requests, auto ready) {
      return elsewhere_.Begin(requests, std::move(ready));
    };
    return options;
  }
  // Opens a stream whose first batch is this message, then one for each of the others that is
  // begun.
  void Begin(const std::vector<std::string>& texts) {
    stream_ = server_.stub().Take(context_.get());
    for (const std::string& text : texts) {
      Send(*stream_, text);
      ASSERT_TRUE(Eventually([&] { return elsewhere_.IsBegun(text); })) << text;
    }
  }

  Elsewhere elsewhere_;
  EchoServer server_;
  const std::unique_ptr<grpc::ClientContext> context_ = ContextOf();
  std::unique_ptr<Stream> stream_;
};

TEST_F(IngestAhead, BeginsABatchBeforeTheLastOneIsReadyAndAnswersInOrder) {
  Begin({"a", "b"});
  Send(*stream_, "c");
  Send(*stream_, "d");
  elsewhere_.End("b");
  elsewhere_.End("a");
  ASSERT_TRUE(Eventually([&] { return elsewhere_.IsBegun("c"); }));
  ASSERT_TRUE(stream_->WritesDone());
  // "d" came with "c", or is a batch of its own.
  std::atomic<bool> done = false;
  std::thread ender([&] {
    while (!done) {
      elsewhere_.EndAll();
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(ReadAll(*stream_), (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_TRUE(stream_->Finish().ok());
  done = true;
  ender.join();
}

TEST_F(IngestAhead, ARefusedBatchEndsTheStreamBehindTheAnswersBeforeIt) {
  Begin({"a"});
  Send(*stream_, "refused");
  stream_->WritesDone();
  elsewhere_.End("a");
  EXPECT_EQ(ReadAll(*stream_), (std::vector<std::string>{"a"}));
  EXPECT_EQ(stream_->Finish().error_code(), grpc::UNAVAILABLE);
}

TEST_F(IngestAhead, NothingIsAnsweredBehindABatchThatFails) {
  Begin({"fails", "b"});
  elsewhere_.End("b");
  elsewhere_.End("fails");
  EXPECT_TRUE(ReadAll(*stream_).empty());
  EXPECT_EQ(stream_->Finish().error_code(), grpc::INTERNAL);
}

TEST_F(IngestAhead, IsOverWhenItsCallerIsGoneAndItsBatchesAreReady) {
  Begin({"a", "b"});
  context_->TryCancel();
  EXPECT_EQ(stream_->Finish().error_code(), grpc::CANCELLED);
  elsewhere_.End("a");
  EXPECT_EQ(server_.Sample(kInFlight), 1);
  elsewhere_.End("b");
  EXPECT_TRUE(Eventually([&] { return server_.Sample(kInFlight) == 0; }));
}

}  // namespace
}  // namespace winnow::test
