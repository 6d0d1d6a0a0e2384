#include "services/classification/llm/chat_answer.h"

#include <charconv>
#include <set>

#include "services/platform/base/format/json_reader.h"

namespace winnow::classification {
namespace {

// What an error says of itself.
struct WireError {
  std::string code;
  std::string type;
};

WireError ReadError(std::string_view body) {
  WireError error;
  JsonReader reader(body);
  const auto text = [&](std::string& value) {
    return reader.Peek() == JsonReader::Kind::kString ? reader.ReadString(value) : reader.Skip();
  };
  reader.ReadObject([&](std::string_view name) {
    if (name != "error" || reader.Peek() != JsonReader::Kind::kObject) return reader.Skip();
    return reader.ReadObject([&](std::string_view member) {
      if (member == "code") return text(error.code);
      if (member == "type") return text(error.type);
      return reader.Skip();
    });
  });
  return error;
}

bool Says(const WireError& error, std::string_view word) {
  return error.code == word || error.type == word;
}

Failure FailureOf(const WireReply& reply) {
  if (reply.status == 0) {
    return reply.failure == Failure::kNone ? Failure::kTransient : reply.failure;
  }
  if (reply.status / 100 == 2) return Failure::kNone;
  const WireError error = ReadError(reply.body);
  const bool quota = Says(error, "insufficient_quota") || Says(error, "billing_hard_limit_reached");
  if (reply.status == 402 || quota) return Failure::kQuota;
  if (reply.status == 429) return Failure::kRateLimit;
  if (reply.status == 401 || reply.status == 403 || reply.status == 404) return Failure::kAuth;
  if (reply.status == 408 || reply.status == 409 || reply.status >= 500) return Failure::kTransient;
  if (Says(error, "content_filter") || Says(error, "content_policy_violation")) {
    return Failure::kRefused;
  }
  if (reply.status == 413 || Says(error, "context_length_exceeded")) return Failure::kTruncated;
  return Failure::kSchema;
}

// The first choice, as far as it is read.
struct Choice {
  bool found = false;
  bool refused = false;
  std::string finish_reason;
  std::string content;
};

bool ReadText(JsonReader& reader, std::string& value) {
  return reader.Peek() == JsonReader::Kind::kString ? reader.ReadString(value) : reader.Skip();
}

bool ReadChoice(JsonReader& reader, Choice& choice) {
  choice.found = true;
  return reader.ReadObject([&](std::string_view name) {
    if (name == "finish_reason") return ReadText(reader, choice.finish_reason);
    if (name != "message" || reader.Peek() != JsonReader::Kind::kObject) return reader.Skip();
    return reader.ReadObject([&](std::string_view member) {
      if (member == "content") return ReadText(reader, choice.content);
      if (member != "refusal") return reader.Skip();
      std::string refusal;
      const bool read = ReadText(reader, refusal);
      choice.refused = choice.refused || !refusal.empty();
      return read;
    });
  });
}

bool ReadUsage(JsonReader& reader, Usage& usage) {
  return reader.ReadObject([&](std::string_view name) {
    if (name == "prompt_tokens") return reader.ReadInteger(usage.prompt_tokens);
    if (name == "completion_tokens") return reader.ReadInteger(usage.completion_tokens);
    return reader.Skip();
  });
}

bool ReadCompletion(std::string_view body, Choice& choice, std::optional<Usage>& usage) {
  JsonReader reader(body);
  const bool read = reader.ReadObject([&](std::string_view name) {
    if (name == "usage" && reader.Peek() == JsonReader::Kind::kObject) {
      Usage reported;
      if (!ReadUsage(reader, reported)) return false;
      if (reported.prompt_tokens >= 0 && reported.completion_tokens >= 0) usage = reported;
      return true;
    }
    if (name != "choices" || reader.Peek() != JsonReader::Kind::kArray) return reader.Skip();
    return reader.ReadArray([&] {
      if (choice.found || reader.Peek() != JsonReader::Kind::kObject) return reader.Skip();
      return ReadChoice(reader, choice);
    });
  });
  return read && reader.Peek() == JsonReader::Kind::kEnd && choice.found;
}

// "1" is 0; -1 for anything that is not an ordinal of the question, in its one spelling.
int ToIndex(std::string_view key, size_t count) {
  size_t ordinal = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), ordinal);
  if (error != std::errc() || end != key.data() + key.size() || key.starts_with('0')) return -1;
  return ordinal >= 1 && ordinal <= count ? static_cast<int>(ordinal) - 1 : -1;
}

int ToLabel(std::string_view name, std::span<const Label> labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

// False unless the content is one JSON object. A key that comes twice counts as missing.
bool ReadLabels(const std::string& content, std::span<const Label> labels, ChatAnswer& answer) {
  JsonReader reader(content);
  std::set<int> seen;
  const bool read = reader.ReadObject([&](std::string_view name) {
    const int index = ToIndex(name, answer.labels.size());
    if (index < 0) {
      ++answer.foreign;
      return reader.Skip();
    }
    std::string label;
    if (!ReadText(reader, label)) return false;
    const bool first = seen.insert(index).second;
    answer.labels[static_cast<size_t>(index)] = first ? ToLabel(label, labels) : -1;
    return true;
  });
  return read && reader.Peek() == JsonReader::Kind::kEnd;
}

}  // namespace

ChatAnswer ReadReply(const WireReply& reply, std::span<const Label> labels, size_t count) {
  ChatAnswer answer;
  answer.failure = FailureOf(reply);
  if (answer.failure != Failure::kNone) return answer;
  Choice choice;
  const bool whole = ReadCompletion(reply.body, choice, answer.usage);
  if (!whole) {
    answer.failure = Failure::kSchema;
  } else if (choice.refused || choice.finish_reason == "content_filter") {
    answer.failure = Failure::kRefused;
  } else if (choice.finish_reason == "length") {
    answer.failure = Failure::kTruncated;
  } else {
    answer.labels.assign(count, -1);
    if (!ReadLabels(choice.content, labels, answer)) answer.failure = Failure::kSchema;
  }
  if (answer.failure != Failure::kNone) answer.labels.clear();
  return answer;
}

}  // namespace winnow::classification
