#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "services/dedup/embedding/embedder_client.h"
#include "services/dedup/embedding/embedder_worker.h"
#include "tests/support/http/fake_http.h"

// The embedder's client against a scripted server.
namespace winnow::dedup {
namespace {

Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(30); }

std::string AnswerFor(size_t count) {
  std::string body = R"({"object":"list","data":[)";
  for (size_t i = 0; i < count; ++i) {
    // In another order than asked.
    const size_t index = count - 1 - i;
    body += (i > 0 ? "," : "") + std::string(R"({"embedding":[)") + std::to_string(index + 1) +
            R"(,-0.5e0],"index":)" + std::to_string(index) + "}";
  }
  return body + R"(],"model":"e5-query"})";
}

size_t CountInputs(const std::string& body) {
  const size_t begin = body.find("\"input\":[");
  size_t quotes = 0;
  for (size_t i = begin + 9; i < body.size(); ++i) quotes += body[i] == '"' ? 1 : 0;
  return quotes / 2;
}

EmbedderOptions OptionsFor(const test::FakeHttpServer& server) {
  return {.url = server.Url("/v1"), .model = "e5-query", .key = "secret", .batch = 2};
}

TEST(HttpEmbedder, AsksInBatchesAndKeepsTheOrder) {
  test::FakeHttpServer server([](const test::FakeRequest& request, test::FakeReply& reply) {
    reply.Send(200, AnswerFor(CountInputs(request.body)));
  });
  Metrics metrics;
  const auto embedder = MakeHttpEmbedder(OptionsFor(server), metrics).value();
  const std::vector<std::string> texts = {"a", "b", "c"};
  const auto vectors = embedder->Embed(texts, Soon());
  ASSERT_TRUE(vectors.ok()) << vectors.status();
  ASSERT_EQ(vectors->size(), 3U);
  EXPECT_EQ((*vectors)[0], (index::Vector{127, -64}));
  EXPECT_EQ((*vectors)[1], (index::Vector{127, -32}));
  EXPECT_EQ((*vectors)[2], (index::Vector{127, -64}));
  ASSERT_EQ(server.CountOf("/v1/embeddings"), 2U);
  EXPECT_EQ(server.requests().front().headers.at("authorization"), "Bearer secret");
}

TEST(HttpEmbedder, RefusesAModelWithoutACalibrationByItsName) {
  Metrics metrics;
  const auto embedder =
      MakeHttpEmbedder({.url = "http://127.0.0.1:1/v1", .model = "mystery-9"}, metrics);
  ASSERT_FALSE(embedder.ok());
  const Violation violation = ViolationsOf(embedder.status()).front();
  EXPECT_EQ(violation.field, "model");
  EXPECT_NE(violation.description.find("mystery-9"), std::string::npos);
  EXPECT_NE(violation.description.find("e5-query"), std::string::npos);
}

TEST(HttpEmbedder, SaysWhatIsNoEmbedding) {
  const std::string good = AnswerFor(1);
  EXPECT_TRUE(ParseEmbeddings(good, 1).ok());
  for (const std::string& bad :
       {std::string("nonsense"), std::string("{}"), std::string(R"({"data":[]})"),
        std::string(R"({"data":[{"index":0}]})"), std::string(R"({"data":[{"embedding":[]}]})"),
        std::string(R"({"data":[{"embedding":[0,0]}]})"),
        std::string(R"({"data":[{"embedding":["1"]}]})"),
        std::string(R"({"data":[{"embedding":[1],"index":1}]})"), AnswerFor(2)}) {
    const auto parsed = ParseEmbeddings(bad, 1);
    EXPECT_EQ(parsed.status().code(), StatusCode::kFailedPrecondition) << bad;
  }
}

TEST(HttpEmbedder, QuotesWhatItSends) {
  const std::vector<std::string> texts = {"a\"b\\c\nd"};
  EXPECT_EQ(EmbeddingRequest("m", texts),
            R"({"model":"m","encoding_format":"float","input":["a\"b\\c\u000ad"]})");
}

TEST(EmbedderWorker, AsksForEachTextOnceAndNotAtAllWhileTheServerFails) {
  std::atomic<bool> is_broken = false;
  test::FakeHttpServer server([&](const test::FakeRequest& request, test::FakeReply& reply) {
    if (is_broken) {
      reply.Send(500, "down");
    } else {
      reply.Send(200, AnswerFor(CountInputs(request.body)));
    }
  });
  Metrics metrics;
  const EmbedderWorkerOptions options{.patience = std::chrono::seconds(30)};
  EmbedderWorker cached(MakeHttpEmbedder(OptionsFor(server), metrics).value(), options, metrics);
  const auto embed = [&](std::span<const std::string> texts) {
    return cached.Embed(texts, Soon(), EmbedderWorker::Caller::kUrgent);
  };
  const std::vector<std::string> texts = {"a", "b", "a"};
  ASSERT_TRUE(embed(texts).ok());
  const auto again = embed(texts);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ((*again)[0], (*again)[2]);
  EXPECT_EQ(server.requests().size(), 1U);
  is_broken = true;
  const std::vector<std::string> other = {"c"};
  for (int i = 0; i < Circuit::kFailures; ++i) {
    EXPECT_EQ(embed(other).status().code(), StatusCode::kUnavailable);
  }
  const size_t asked = server.requests().size();
  EXPECT_EQ(embed(other).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(server.requests().size(), asked) << "the circuit is open";
  EXPECT_TRUE(embed(texts).ok()) << "what is cached needs no server";
  is_broken = false;
  const auto deadline = Soon();
  while (!embed(other).ok()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
  EXPECT_NE(metrics.Render().find("winnow_dedup_embedder_down 0"), std::string::npos);
}

TEST(HttpEmbedder, IsGivenUpAtTheDeadline) {
  test::FakeHttpServer server([](const test::FakeRequest&, test::FakeReply& reply) {
    reply.Pause(std::chrono::seconds(30));
  });
  Metrics metrics;
  const auto embedder = MakeHttpEmbedder(OptionsFor(server), metrics).value();
  const std::vector<std::string> texts = {"a"};
  const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  EXPECT_EQ(embedder->Embed(texts, soon).status().code(), StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace winnow::dedup
