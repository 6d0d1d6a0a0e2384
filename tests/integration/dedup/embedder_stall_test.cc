#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>

#include "services/dedup/embedding/embedder_client.h"
#include "services/platform/base/format/json_tree.h"
#include "tests/support/dedup/dedup.h"
#include "tests/support/http/fake_http.h"
#include "tests/support/sync/eventually.h"

// Documents where the embedder's server is slow, or accepts a call and never answers.
namespace winnow::dedup {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using test::DedupInstance;
using test::NewDocument;
using test::StoryTitle;

size_t CountInputs(const std::string& body) {
  const JsonValue root = ParseJson(body, "request").value();
  for (const JsonMember& member : root.members) {
    if (member.name == "input") return member.value.items.size();
  }
  return 0;
}

class DedupStall : public ::testing::Test {
 protected:
  ~DedupStall() override { is_stalled_ = false; }

  void Open(EmbedderWorkerOptions options) {
    const EmbedderOptions model{
        .url = server_.Url("/v1"), .model = "e5-query", .timeout = options.call_time};
    embedder_.emplace(MakeHttpEmbedder(model, metrics_).value(), options, metrics_);
    decider_.emplace(test::NewDedupDatabase(), Policy(), 4'000'000, &*embedder_);
  }
  Document Next() {
    ++documents_;
    return NewDocument(std::to_string(documents_), "one", StoryTitle(documents_));
  }
  // Whether it was decided by its meaning too.
  bool SubmitNext() {
    const auto decision = decider_->SubmitOne(Next());
    EXPECT_TRUE(decision.ok()) << decision.status();
    if (!decision.ok()) return false;
    EXPECT_TRUE(decision->recorded);
    if (decision->degradations.empty()) return true;
    EXPECT_EQ(decision->degradations, std::vector{Degradation::kEmbedder});
    return false;
  }

  std::atomic<bool> is_stalled_ = false;
  std::atomic<int> call_milliseconds_ = 0;
  std::atomic<int> text_milliseconds_ = 0;
  test::FakeHttpServer server_{[this](const test::FakeRequest& request, test::FakeReply& reply) {
    const auto texts = static_cast<int>(CountInputs(request.body));
    if (!reply.Pause(milliseconds(call_milliseconds_ + text_milliseconds_ * texts))) return;
    while (is_stalled_) {
      if (!reply.Pause(milliseconds(5))) return;
    }
    std::string body = R"({"data":[)";
    for (int i = 0; i < texts; ++i) {
      body += (i > 0 ? "," : "") + std::string(R"({"embedding":[1,2,3]})");
    }
    reply.Send(200, body + "]}");
  }};
  Metrics metrics_;
  int documents_ = 0;
  std::optional<EmbedderWorker> embedder_;
  std::optional<DedupInstance> decider_;
};

// Nothing here takes 30 s, so that no call fails.
const EmbedderWorkerOptions kPatient{.call_time = std::chrono::seconds(30)};

TEST_F(DedupStall, IsNoneWhereEveryCallTakesLongerThanTheLeastPatience) {
  Open(kPatient);
  call_milliseconds_ = 250;
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(SubmitNext()) << "document " << i;
  EXPECT_EQ(embedder_->counts().failures, 0);
}

TEST_F(DedupStall, IsNoneWhereManyTextsTakeLonger) {
  Open(kPatient);
  text_milliseconds_ = 15;
  EXPECT_TRUE(SubmitNext());
  for (int i = 0; i < 3; ++i) {
    std::vector<Document> documents;
    for (int k = 0; k < 16; ++k) documents.push_back(Next());
    for (const auto& decision : decider_->Submit(documents, /*is_urgent=*/true)) {
      ASSERT_TRUE(decision.ok()) << decision.status();
      EXPECT_TRUE(decision->degradations.empty());
    }
    EXPECT_TRUE(SubmitNext());
  }
}

TEST_F(DedupStall, LetsEveryDocumentGoOnWhileTheFirstCallIsStillOpen) {
  Open(kPatient);
  call_milliseconds_ = 10;
  for (int i = 0; i < 20; ++i) SubmitNext();
  ASSERT_TRUE(test::Eventually([&] { return SubmitNext(); }));
  const size_t before = server_.CountOf("/v1/embeddings");
  is_stalled_ = true;
  std::vector<double> seconds;
  for (int i = 0; i < 200; ++i) {
    const auto begin = steady_clock::now();
    EXPECT_FALSE(SubmitNext());
    seconds.push_back(duration<double>(steady_clock::now() - begin).count());
  }
  EXPECT_EQ(server_.CountOf("/v1/embeddings"), before + 1) << "nobody asked beside it";
  EXPECT_EQ(embedder_->counts().failures, 0) << "it is still open";
  std::sort(seconds.begin(), seconds.end());
  std::printf("SubmitDocument over a stall: p50 %.1f ms, p99 %.1f ms, longest %.1f ms\n",
              1e3 * seconds[100], 1e3 * seconds[198], 1e3 * seconds[199]);
  is_stalled_ = false;
  EXPECT_TRUE(test::Eventually([&] { return SubmitNext(); })) << "it is asked again";
}

TEST_F(DedupStall, LetsBulkGoOnToo) {
  Open({.call_time = milliseconds(100)});
  is_stalled_ = true;
  std::vector<Document> documents;
  for (int i = 0; i < 200; ++i) documents.push_back(Next());
  for (const auto& decision : decider_->Submit(documents)) {
    ASSERT_TRUE(decision.ok()) << decision.status();
    EXPECT_TRUE(decision->recorded);
    EXPECT_EQ(decision->degradations, std::vector{Degradation::kEmbedder});
  }
  EXPECT_TRUE(embedder_->counts().is_down);
  is_stalled_ = false;
  ASSERT_TRUE(test::Eventually([&] { return !embedder_->counts().is_down; }));
  EXPECT_TRUE(test::Eventually([&] { return SubmitNext(); }));
}

}  // namespace
}  // namespace winnow::dedup
