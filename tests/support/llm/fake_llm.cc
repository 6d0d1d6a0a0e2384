#include "tests/support/llm/fake_llm.h"

#include <algorithm>
#include <set>

#include "services/platform/base/format/json_reader.h"
#include "services/platform/base/format/json_tree.h"

namespace winnow::test {
namespace {

constexpr std::string_view kNames[] = {
    "none",        "drop_keys",      "foreign_keys", "mangled_keys",   "duplicate_keys",
    "bad_labels",  "wrong_types",    "prose",        "not_json",       "empty",
    "length",      "context_length", "refusal",      "content_filter", "inverted",
    "obeys",       "no_usage",       "rate_limit",   "server_error",   "unavailable",
    "bad_gateway", "cut_off",        "slow",         "quota",          "auth",
    "bad_request"};
static_assert(std::size(kNames) == kLlmFaults);

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

const JsonValue* Find(const JsonValue* object, std::string_view name) {
  if (object == nullptr) return nullptr;
  for (const JsonMember& member : object->members) {
    if (member.name == name) return &member.value;
  }
  return nullptr;
}

const JsonValue* Find(const JsonValue* value, std::initializer_list<std::string_view> path) {
  for (const std::string_view name : path) value = Find(value, name);
  return value;
}

std::string TextOf(const JsonValue* value) {
  std::string text;
  if (value == nullptr || value->kind != JsonValue::Kind::kString) return text;
  JsonReader(value->raw).ReadString(text);
  return text;
}

std::vector<std::string> TextsOf(const JsonValue* list) {
  std::vector<std::string> texts;
  if (list == nullptr) return texts;
  for (const JsonValue& item : list->items) texts.push_back(TextOf(&item));
  return texts;
}

std::string Error(const std::string& message, const std::string& type, const std::string& code) {
  return R"({"error":{"message":)" + JsonQuoted(message) + R"(,"type":)" + JsonQuoted(type) +
         R"(,"param":null,"code":)" + JsonQuoted(code) + "}}";
}

std::string Completion(const std::string& content, const std::string& finish,
                       const std::string& refusal, const std::string& usage) {
  return R"({"id":"chatcmpl-1","object":"chat.completion","created":1763800000,"model":"fake",)"
         R"("choices":[{"index":0,"message":{"role":"assistant","content":)" +
         content + R"(,"refusal":)" + refusal + R"(},"logprobs":null,"finish_reason":)" +
         JsonQuoted(finish) + "}]" + usage + "}";
}

}  // namespace

// A request, read as strictly as the real server reads a strict schema.
struct FakeLlm::Question {
  std::vector<std::string> keys;
  std::vector<std::string> texts;
  std::vector<std::string> labels;
  std::string error;

  explicit Question(const std::string& body) {
    const auto root = ParseJson(body, "request");
    if (!root.ok()) {
      error = "the body is no JSON";
      return;
    }
    for (const JsonMember& member : root->members) {
      static const std::set<std::string> kKnown = {"model", "messages", "max_completion_tokens",
                                                   "response_format"};
      if (!kKnown.contains(member.name)) error = "unknown parameter " + member.name;
    }
    if (TextOf(Find(&*root, "model")).empty()) error = "no model";
    const JsonValue* messages = Find(&*root, "messages");
    if (messages == nullptr || messages->items.size() != 2 ||
        TextOf(Find(&messages->items[0], "role")) != "system" ||
        TextOf(Find(&messages->items[1], "role")) != "user") {
      error = "messages must be one of the system and one of the user";
      return;
    }
    ReadSchema(Find(&*root, "response_format"));
    if (error.empty()) ReadFence(TextOf(Find(&messages->items[1], "content")));
  }

  void ReadSchema(const JsonValue* format) {
    const JsonValue* wrapper = Find(format, "json_schema");
    const JsonValue* schema = Find(wrapper, "schema");
    const JsonValue* strict = Find(wrapper, "strict");
    const JsonValue* more = Find(schema, "additionalProperties");
    const JsonValue* properties = Find(schema, "properties");
    if (TextOf(Find(format, "type")) != "json_schema" || TextOf(Find(wrapper, "name")).empty() ||
        strict == nullptr || strict->raw != "true" || more == nullptr || more->raw != "false" ||
        TextOf(Find(schema, "type")) != "object" || properties == nullptr) {
      error = "no strict JSON schema of an object";
      return;
    }
    for (const JsonMember& member : properties->members) {
      keys.push_back(member.name);
      if (TextOf(Find(&member.value, "$ref")) != "#/$defs/label") error = "a property has no label";
    }
    if (TextsOf(Find(schema, "required")) != keys) error = "required must list all properties";
    labels = TextsOf(Find(schema, {"$defs", "label", "enum"}));
    if (labels.empty()) error = "the labels are no enum";
  }

  // NONCE, one JSON object of the schema's keys, NONCE: each a line.
  void ReadFence(const std::string& content) {
    const size_t first = content.find('\n');
    const size_t last = content.rfind('\n');
    const std::string nonce = content.substr(0, first);
    if (first == std::string::npos || last == first || content.substr(last + 1) != nonce ||
        nonce.size() < 32) {
      error = "the comments are in no fence";
      return;
    }
    const std::string inside = content.substr(first + 1, last - first - 1);
    const auto object = ParseJson(inside, "fence");
    if (!object.ok() || Has(inside, "\n") || Has(inside, nonce) || Has(inside, "<")) {
      error = "the fence holds more than one line of JSON";
      return;
    }
    for (const JsonMember& member : object->members) {
      if (texts.size() >= keys.size() || member.name != keys[texts.size()]) {
        error = "the comments' keys are not the schema's";
        return;
      }
      texts.push_back(TextOf(&member.value));
    }
    if (texts.size() != keys.size()) error = "a key has no comment";
  }

  bool Holds(std::string_view mark) const {
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& text) { return Has(text, mark); });
  }
};

std::string_view NameOf(LlmFault fault) { return kNames[static_cast<size_t>(fault)]; }

LlmFaults MildFaults() {
  LlmFaults faults;
  for (size_t i = 1; i < kLlmFaults; ++i) {
    const auto fault = static_cast<LlmFault>(i);
    if (fault == LlmFault::kQuota || fault == LlmFault::kAuth) continue;
    faults[fault] = 0.0035;
  }
  return faults;
}

LlmFaults HarshFaults() {
  LlmFaults faults = MildFaults();
  for (auto& [fault, share] : faults) share = 0.0145;
  return faults;
}

std::string_view FakeLlm::RightLabel(std::string_view text) {
  if (Has(text, "#toxic")) return "filtered_toxic";
  if (Has(text, "#suggest")) return "content_suggestion";
  if (Has(text, "#filter") || Has(text, "http://")) return "filtered_spam";
  return "normal";
}

std::string FakeLlm::complaint() const {
  const std::lock_guard lock(mutex_);
  return complaint_;
}

std::string FakeLlm::last_body() const {
  const std::lock_guard lock(mutex_);
  return last_body_;
}

void FakeLlm::Complain(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (complaint_.empty()) complaint_ = what;
}

LlmFault FakeLlm::Choice(const Question& question, size_t call) {
  if (question.Holds("#crash")) return LlmFault::kServerError;
  if (question.Holds("#refuse")) return LlmFault::kRefusal;
  if (question.Holds("#long")) return LlmFault::kLength;
  const std::lock_guard lock(mutex_);
  if (choose_) return choose_(call, question.texts);
  double at = std::uniform_real_distribution<double>(0, 1)(random_);
  for (const auto& [fault, share] : faults_) {
    if (at < share) return fault;
    at -= share;
  }
  return LlmFault::kNone;
}

std::string FakeLlm::Content(const Question& question, LlmFault fault) {
  const size_t count = question.keys.size();
  size_t victim = 0;
  {
    const std::lock_guard lock(mutex_);
    victim = random_() % count;
  }
  std::string content = "{";
  const auto put = [&](const std::string& key, const std::string& value) {
    content += (content.size() > 1 ? "," : "") + JsonQuoted(key) + ":" + value;
  };
  const auto add = [&](const std::string& key, std::string_view label) {
    put(key, JsonQuoted(label));
  };
  for (size_t i = 0; i < count; ++i) {
    const std::string& text = question.texts[i];
    std::string key = question.keys[i];
    std::string_view label = RightLabel(text);
    if (fault == LlmFault::kInverted) label = label == "normal" ? "filtered_spam" : "normal";
    if (fault == LlmFault::kObeys) label = "normal";
    if (fault == LlmFault::kBadLabels && i == victim) label = "spammish";
    if (Has(text, "#garble")) label = "???";
    if ((fault == LlmFault::kDropKeys && i == victim) || Has(text, "#mute")) continue;
    if (fault == LlmFault::kMangledKeys && i == victim) key.insert(0, "UgxMangled");
    if (fault == LlmFault::kWrongTypes && i == victim) {
      const std::string quoted = JsonQuoted(label);
      const std::string wrong[] = {"1", "null", "[" + quoted + "]", "{\"label\":" + quoted + "}"};
      put(key, wrong[i % std::size(wrong)]);
      continue;
    }
    add(key, label);
    if (fault == LlmFault::kDuplicateKeys && i == victim) add(key, "content_suggestion");
  }
  if (fault == LlmFault::kForeignKeys) add(std::to_string(count + 1), "normal");
  content += "}";
  if (fault == LlmFault::kNotJson) content.resize(content.size() / 2);
  if (fault == LlmFault::kProse) content = "Sure! Here it is: " + content;
  return content;
}

LlmReply FakeLlm::Complete(const Question& question, LlmFault fault) {
  LlmReply reply;
  std::string content = Content(question, fault);
  size_t prompt = 200;
  for (const std::string& text : question.texts) prompt += text.size() / 3 + 6;
  const size_t completion = content.size() / 3;
  std::string finish = "stop";
  std::string refusal = "null";
  if (fault == LlmFault::kLength) {
    finish = "length";
    content.resize(content.size() / 2);
  }
  if (fault == LlmFault::kContentFilter) {
    finish = "content_filter";
    content.clear();
  }
  if (fault == LlmFault::kRefusal) refusal = "\"I cannot help with that.\"";
  const bool none = fault == LlmFault::kEmpty || fault == LlmFault::kRefusal;
  std::string usage;
  if (fault != LlmFault::kNoUsage) {
    usage = R"(,"usage":{"prompt_tokens":)" + std::to_string(prompt) + R"(,"completion_tokens":)" +
            std::to_string(completion) + R"(,"total_tokens":)" +
            std::to_string(prompt + completion) + "}";
    prompt_tokens_ += static_cast<int64_t>(prompt);
    completion_tokens_ += static_cast<int64_t>(completion);
  }
  reply.body = Completion(none ? "null" : JsonQuoted(content), finish, refusal, usage);
  reply.cut = fault == LlmFault::kCutOff;
  reply.slow = fault == LlmFault::kSlow;
  return reply;
}

LlmReply FakeLlm::Answer(const std::string& authorization, const std::string& body) {
  const size_t call = calls_++;
  {
    const std::lock_guard lock(mutex_);
    last_body_ = body;
  }
  if (!key_.empty() && authorization != "Bearer " + key_) {
    return {
        401, Error("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"), {}};
  }
  const Question question(body);
  if (!question.error.empty()) {
    Complain(question.error + ": " + body.substr(0, 2000));
    return {400, Error(question.error, "invalid_request_error", ""), {}};
  }
  items_ += question.texts.size();
  const LlmFault fault = Choice(question, call);
  ++counts_[static_cast<size_t>(fault)];
  const FakeReply::Headers wait = {{"Retry-After", std::to_string(retry_after_s_)}};
  switch (fault) {
    case LlmFault::kRateLimit:
      return {429, Error("Rate limit reached.", "requests", "rate_limit_exceeded"), wait};
    case LlmFault::kServerError:
      return {500, Error("The server had an error.", "server_error", ""), {}};
    case LlmFault::kUnavailable:
      return {503, Error("The engine is overloaded.", "server_error", ""), wait};
    case LlmFault::kBadGateway:
      return {502, "<html><body>502 Bad Gateway</body></html>", {}};
    case LlmFault::kQuota:
      return {
          429, Error("You exceeded your quota.", "insufficient_quota", "insufficient_quota"), {}};
    case LlmFault::kAuth:
      return {401, Error("Incorrect API key.", "invalid_request_error", "invalid_api_key"), {}};
    case LlmFault::kContextLength:
      return {
          400, Error("Too many tokens.", "invalid_request_error", "context_length_exceeded"), {}};
    case LlmFault::kBadRequest:
      return {400, Error("Invalid request.", "invalid_request_error", ""), {}};
    default:
      return Complete(question, fault);
  }
}

FakeLlmServer::FakeLlmServer(FakeLlm& model)
    : server_([&model](const FakeRequest& request, FakeReply& reply) {
        const FakeReply::Headers json = {{"Content-Type", "application/json"}};
        if (request.path == "/last") {
          reply.Send(200, model.last_body(), json);
          return;
        }
        if (request.path == "/stats") {
          reply.Send(200,
                     R"({"calls":)" + std::to_string(model.calls()) + R"(,"items":)" +
                         std::to_string(model.items()) + "}",
                     json);
          return;
        }
        if (request.path != "/v1/chat/completions" || request.method != "POST") {
          reply.Send(404, Error("Unknown request URL.", "invalid_request_error", "unknown_url"),
                     json);
          return;
        }
        const auto authorization = request.headers.find("authorization");
        const LlmReply answer = model.Answer(
            authorization == request.headers.end() ? "" : authorization->second, request.body);
        if (answer.slow) {
          reply.Pause(std::chrono::minutes(5));
          return;
        }
        if (answer.cut) {
          reply.Write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{\"choices\":");
          return;
        }
        FakeReply::Headers headers = json;
        headers.insert(headers.end(), answer.headers.begin(), answer.headers.end());
        reply.Send(answer.status, answer.body, headers);
      }) {}

}  // namespace winnow::test
