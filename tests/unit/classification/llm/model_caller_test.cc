#include "services/classification/llm/model_caller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "services/classification/llm/call_gate.h"
#include "services/classification/llm/canaries.h"
#include "services/classification/llm/chat_answer.h"
#include "services/classification/llm/chat_request.h"
#include "services/classification/llm/labels.h"
#include "services/classification/llm/packing.h"
#include "services/platform/base/format/json_reader.h"
#include "tests/support/llm/fake_llm.h"

namespace winnow::classification {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

std::vector<Label> Labels() { return LabelsOf(DefaultPolicy()); }

std::string Request(std::span<const std::string_view> texts) {
  const std::vector<Label> labels = Labels();
  return ChatRequest({"m", 100, labels, texts, "fence-0123456789abcdef0123456789abcdef"});
}

TEST(LlmLabels, AreNormalAndOneForEachWayAPolicyDecides) {
  std::vector<std::string> names;
  for (const Label& label : Labels()) names.push_back(label.name);
  EXPECT_EQ(names[0], "normal");
  EXPECT_THAT(names, testing::IsSupersetOf({"filtered_spam", "filtered_hate", "content_suggestion",
                                            "filtered_toxic"}));
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}

// Whatever a text holds, the strict reader of the fake server gets back exactly that text.
TEST(LlmRequest, KeepsAnyTextInsideItsJsonString) {
  const std::vector<std::string> pieces = {
      "\"",       "\\",      "\n",           "}",    "{",    "<|im_start|>system",  "[INST]",
      "</s>",     "\\u0000", "\x01",         "ㅋㅋ", "안녕", "\"},{\"1\":\"normal", "fence-",
      "\r\n\r\n", "```json", "\xE2\x80\xA8", "😀"};
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> texts(1 + random() % 5);
    for (std::string& text : texts) {
      for (size_t i = random() % 6; i > 0; --i) text += pieces[random() % pieces.size()];
    }
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    test::FakeLlm model;
    std::vector<std::string> seen;
    model.set_choose([&](size_t, const std::vector<std::string>& asked) {
      seen = asked;
      return test::LlmFault::kNone;
    });
    EXPECT_EQ(model.Answer("", Request(views)).status, 200);
    EXPECT_EQ(model.complaint(), "");
    EXPECT_EQ(seen, texts);
  }
}

std::string Completion(const std::string& content, const std::string& finish = "stop") {
  return R"({"choices":[{"message":{"content":)" + JsonQuoted(content) + R"(},"finish_reason":)" +
         JsonQuoted(finish) + R"(}],"usage":{"prompt_tokens":10,"completion_tokens":5}})";
}

ChatAnswer Read(const std::string& content, const std::string& finish = "stop") {
  return ReadReply({200, Completion(content, finish)}, Labels(), 3);
}

TEST(LlmAnswer, TakesWhatTheSchemaAsksForAndNothingElse) {
  EXPECT_THAT(Read(R"({"1":"normal","2":"normal","3":"normal"})").labels, ElementsAre(0, 0, 0));
  EXPECT_THAT(Read(R"({"3":"normal","1":"normal"})").labels, ElementsAre(0, -1, 0));
  const ChatAnswer foreign = Read(R"({"1":"normal","4":"normal","01":"normal","x":1})");
  EXPECT_THAT(foreign.labels, ElementsAre(0, -1, -1));
  EXPECT_EQ(foreign.foreign, 3);
  EXPECT_THAT(Read(R"({"1":"normal","1":"normal","2":"Normal","3":null})").labels,
              ElementsAre(-1, -1, -1))
      << "twice, another spelling, no string";
}

TEST(LlmAnswer, BelievesNothingOfABrokenOne) {
  for (const char* content : {"", "normal", "[]", R"({"1":"normal")", R"({"1":"normal"} ok)",
                              R"(Sure: {"1":"normal"})", "null"}) {
    const ChatAnswer answer = Read(content);
    EXPECT_EQ(answer.failure, Failure::kSchema) << content;
    EXPECT_TRUE(answer.labels.empty());
    EXPECT_EQ(answer.usage->prompt_tokens, 10) << "it is paid for";
  }
  EXPECT_EQ(Read(R"({"1":"normal","2":"normal","3":"normal"})", "length").failure,
            Failure::kTruncated);
  EXPECT_EQ(Read("", "content_filter").failure, Failure::kRefused);
  EXPECT_EQ(ReadReply({200, "not json"}, Labels(), 1).failure, Failure::kSchema);
  EXPECT_EQ(ReadReply({200, R"({"choices":[]})"}, Labels(), 1).failure, Failure::kSchema);
}

TEST(LlmAnswer, TellsErrorsOfTheWireApart) {
  const auto kind = [](int status, const std::string& body) {
    return ReadReply({status, body}, Labels(), 1).failure;
  };
  const auto error = [](const char* code) {
    return std::string(R"({"error":{"message":"x","code":")") + code + "\"}}";
  };
  EXPECT_EQ(kind(429, error("rate_limit_exceeded")), Failure::kRateLimit);
  EXPECT_EQ(kind(429, error("insufficient_quota")), Failure::kQuota);
  EXPECT_EQ(kind(402, ""), Failure::kQuota);
  EXPECT_EQ(kind(401, error("invalid_api_key")), Failure::kAuth);
  EXPECT_EQ(kind(403, ""), Failure::kAuth);
  EXPECT_EQ(kind(404, error("model_not_found")), Failure::kAuth);
  EXPECT_EQ(kind(500, "<html>"), Failure::kTransient);
  EXPECT_EQ(kind(503, ""), Failure::kTransient);
  EXPECT_EQ(kind(408, ""), Failure::kTransient);
  EXPECT_EQ(kind(400, error("context_length_exceeded")), Failure::kTruncated);
  EXPECT_EQ(kind(400, error("content_filter")), Failure::kRefused);
  EXPECT_EQ(kind(400, error("other")), Failure::kSchema);
  EXPECT_EQ(ReadReply({0, "", {}, Failure::kDeadline}, Labels(), 1).failure, Failure::kDeadline);
  EXPECT_EQ(ReadReply({}, Labels(), 1).failure, Failure::kTransient);
}

TEST(LlmPacking, KeepsEveryItemOnceWithinItsLimitAndTheTokens) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<Pending> items(random() % 100);
    for (size_t i = 0; i < items.size(); ++i) {
      items[i] = {i, size_t{1} << (random() % 5), 1 + random() % 50};
    }
    std::set<size_t> seen;
    for (const CommentBatch& batch : Pack(items, 200)) {
      size_t tokens = 0;
      for (const Pending& item : batch) {
        EXPECT_LE(batch.size(), item.limit);
        EXPECT_TRUE(seen.insert(item.index).second);
        tokens += item.tokens;
      }
      EXPECT_TRUE(tokens <= 200 || batch.size() == 1);
    }
    EXPECT_EQ(seen.size(), items.size());
  }
}

TEST(LlmGate, NeverLetsACallGoBeforeRetryAfter) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    CallGate gate;
    Deadline now{};
    Deadline floor = now;
    for (int i = 0; i < 20; ++i) {
      const seconds wait(static_cast<int64_t>(random() % 100));
      gate.Fail(now, Failure::kRateLimit, wait, random(), false);
      floor = std::max(floor, now + wait);
      const CallGate::Turn turn = gate.Ask(now);
      if (turn.pass == CallGate::Pass::kWait) {
        EXPECT_GE(turn.until, floor);
        now = turn.until;
      }
      EXPECT_GE(now, floor);
      EXPECT_EQ(gate.Ask(now).pass, CallGate::Pass::kGo) << "rate limits do not open the circuit";
    }
  }
}

TEST(LlmGate, JittersFullyBelowADoublingCap) {
  std::set<int64_t> waits;
  for (uint64_t random = 0; random < 2000; random += 7) {
    CallGate gate;
    gate.Fail(Deadline{}, Failure::kTransient, milliseconds(0), random, false);
    const CallGate::Turn turn = gate.Ask(Deadline{});
    const auto wait = std::chrono::duration_cast<milliseconds>(turn.until - Deadline{});
    EXPECT_LT(wait, CallGate::kFirstBackoff);
    waits.insert(wait.count());
  }
  EXPECT_GT(waits.size(), 100u);
}

TEST(LlmGate, OpensAfterFailuresAndLetsOneTry) {
  CallGate gate;
  Deadline now{};
  for (int i = 0; i < CallGate::kOpenAfter; ++i) {
    gate.Fail(now, Failure::kTransient, milliseconds(0), 0, false);
  }
  EXPECT_TRUE(gate.is_open());
  EXPECT_EQ(gate.Ask(now).pass, CallGate::Pass::kProbe);
  EXPECT_EQ(gate.Ask(now).pass, CallGate::Pass::kWait);
  gate.Fail(now, Failure::kTransient, milliseconds(0), 0, true);
  EXPECT_EQ(gate.Ask(now).pass, CallGate::Pass::kProbe);
  EXPECT_EQ(gate.Silence(now + seconds(3)), seconds(3));
  gate.Succeed(true);
  EXPECT_FALSE(gate.is_open());
  EXPECT_EQ(gate.Ask(now).pass, CallGate::Pass::kGo);
  EXPECT_EQ(gate.Silence(now + seconds(3)), seconds(0));
}

TEST(LlmCanaries, AreOfTwoStatusesWhereThePolicyKnowsTwo) {
  for (uint64_t random = 0; random < 50; ++random) {
    const auto canaries = PickCanaries(Labels(), random * 977);
    ASSERT_EQ(canaries.size(), 2u);
    EXPECT_EQ(canaries[0].status, CommentStatus::kNormal);
    EXPECT_EQ(canaries[1].status, CommentStatus::kFiltered);
  }
  const std::vector<Label> only = {{"normal", "", "", CommentStatus::kNormal, ""}};
  EXPECT_EQ(PickCanaries(only, 1).size(), 1u);
}

class SilentWorld final : public LlmEnvironment {
  WireReply Post(const std::string&, FunctionRef<bool()>) override { return {}; }
  void Wait(Deadline, FunctionRef<bool()>) override {}
  uint64_t Random() override { return 0; }
};

TEST(LlmCost, IsNeverMoreThanWhatWasReserved) {
  SilentWorld world;
  const ModelCaller asker({"m", 250'000, 2'000'000, 100}, world, seconds(1));
  EXPECT_EQ(asker.CostOf({1'000'000, 1'000'000}), 2'250'000);
  EXPECT_EQ(asker.CostOf({1, 0}), 1) << "rounded up";
  const std::string_view texts[] = {"한국어 댓글입니다", "an English one"};
  const std::string body = Request(texts);
  EXPECT_GE(asker.MostCost(body), asker.CostOf({static_cast<int64_t>(body.size()), 100}));
}

}  // namespace
}  // namespace winnow::classification
