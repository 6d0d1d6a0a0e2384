#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/http/fake_http.h"

namespace winnow::test {

// What a server of language models does wrong, as it was seen elsewhere.
enum class LlmFault {
  kNone,
  kDropKeys,       // valid JSON, some ids missing
  kForeignKeys,    // ids that nobody asked for, beside all others
  kMangledKeys,    // ids with wrong characters instead of the right ones
  kDuplicateKeys,  // an id twice, with two labels
  kBadLabels,      // a label that is none
  kWrongTypes,     // a label that is a number, null, a list or an object
  kProse,          // talk around the JSON
  kNotJson,        // cut in the middle, yet finish_reason is "stop"
  kEmpty,          // no content at all
  kLength,         // cut, and says so
  kContextLength,  // 400: the prompt is too long
  kRefusal,        // message.refusal
  kContentFilter,  // finish_reason
  kInverted,       // labels upside down: canaries find out
  kObeys,          // all "normal", as a comment demands
  kNoUsage,        // does not report what it cost
  kRateLimit,      // 429 with Retry-After
  kServerError,    // 500
  kUnavailable,    // 503 with Retry-After
  kBadGateway,     // 502 with HTML
  kCutOff,         // the connection ends in the middle
  kSlow,           // no answer in time
  kQuota,          // 429, insufficient_quota
  kAuth,           // 401
  kBadRequest,     // 400
};
inline constexpr size_t kLlmFaults = 26;
std::string_view NameOf(LlmFault fault);

// Shares of calls, by fault; what is left goes well.
using LlmFaults = std::map<LlmFault, double>;
// A few percent of everything, and a third of everything; neither ends a run by itself.
LlmFaults MildFaults();
LlmFaults HarshFaults();

struct LlmReply {
  int status = 200;
  std::string body;
  FakeReply::Headers headers;
  bool cut = false;
  bool slow = false;
};

// An OpenAI-compatible model that knows the right answer of each text by its marks: "#filter" or a
// link is filtered (spam), "#toxic" filtered (toxic), "#suggest" a suggestion, others are normal.
// Texts spoil whatever batch they are in by "#refuse", "#long", "#crash"; "#mute" is never
// answered, "#garble" never with a label. It judges requests as strictly as the real one.
class FakeLlm {
 public:
  using Choose = std::function<LlmFault(size_t call, const std::vector<std::string>& texts)>;

  explicit FakeLlm(LlmFaults faults = {}, uint64_t seed = 1)
      : faults_(std::move(faults)), random_(seed) {}

  // Which fault a call meets, instead of by chance. Before the first call.
  void set_choose(Choose choose) { choose_ = std::move(choose); }
  // Answered as 401 unless the request has this bearer token; empty: any will do.
  void set_key(std::string key) { key_ = std::move(key); }
  void set_retry_after(int seconds) { retry_after_s_ = seconds; }

  LlmReply Answer(const std::string& authorization, const std::string& body);

  size_t calls() const { return calls_; }
  size_t items() const { return items_; }  // texts asked, canaries too
  size_t CountOf(LlmFault fault) const { return counts_[static_cast<size_t>(fault)]; }
  int64_t prompt_tokens() const { return prompt_tokens_; }
  int64_t completion_tokens() const { return completion_tokens_; }
  // What was wrong with requests; empty when nothing was.
  std::string complaint() const;
  std::string last_body() const;

  static std::string_view RightLabel(std::string_view text);

 private:
  struct Question;
  LlmFault Choice(const Question& question, size_t call);
  LlmReply Complete(const Question& question, LlmFault fault);
  std::string Content(const Question& question, LlmFault fault);
  void Complain(const std::string& what);

  const LlmFaults faults_;
  Choose choose_;
  std::string key_;
  int retry_after_s_ = 1;
  std::atomic<size_t> calls_ = 0;
  std::atomic<size_t> items_ = 0;
  std::array<std::atomic<size_t>, kLlmFaults> counts_{};
  std::atomic<int64_t> prompt_tokens_ = 0;
  std::atomic<int64_t> completion_tokens_ = 0;
  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  std::string complaint_;
  std::string last_body_;
};

// The same behind HTTP: POST /v1/chat/completions; GET /last answers the last request's body,
// GET /stats calls and items.
class FakeLlmServer {
 public:
  // `model` outlives it.
  explicit FakeLlmServer(FakeLlm& model);
  std::string url() const { return server_.Url("/v1"); }
  int port() const { return server_.port(); }

 private:
  FakeHttpServer server_;
};

}  // namespace winnow::test
