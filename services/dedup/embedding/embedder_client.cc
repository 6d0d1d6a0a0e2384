#include "services/dedup/embedding/embedder_client.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

#include "services/dedup/embedding/embedding_text.h"
#include "services/platform/base/format/json_tree.h"
#include "services/platform/http/client.h"

namespace winnow::dedup {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// One number of a vector, spelled out, with its comma; and what stands around the vectors.
constexpr size_t kBytesPerNumber = 32;
constexpr size_t kBytesAround = 64 * 1024;

void AppendQuoted(std::string_view text, std::string& json) {
  json += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(c));
      json += escaped;
    } else {
      json += c;
    }
  }
  json += '"';
}

Status NoEmbedding(const std::string& why) {
  return FailedPrecondition("the embedder's response is not a list of embeddings: " + why);
}

const JsonValue* Member(const JsonValue& object, std::string_view name) {
  for (const JsonMember& member : object.members) {
    if (member.name == name) return &member.value;
  }
  return nullptr;
}

bool ParseNumber(const JsonValue& value, double& number) {
  if (value.kind != JsonValue::Kind::kNumber) return false;
  const char* end = value.raw.data() + value.raw.size();
  return std::from_chars(value.raw.data(), end, number).ptr == end;
}

StatusOr<index::Vector> ParseVector(const JsonValue& values) {
  if (values.kind != JsonValue::Kind::kArray || values.items.empty() ||
      values.items.size() > index::kMaxDimensions) {
    return NoEmbedding("an embedding is not an array of 1 to 4,096 numbers");
  }
  std::vector<float> numbers;
  numbers.reserve(values.items.size());
  for (const JsonValue& item : values.items) {
    double number = 0;
    if (!ParseNumber(item, number))
      return NoEmbedding("an embedding contains a value that is not a number");
    numbers.push_back(static_cast<float>(number));
  }
  std::optional<index::Vector> vector = index::Quantize(numbers);
  if (!vector) return NoEmbedding("an embedding has no direction");
  return *std::move(vector);
}

class HttpEmbedder final : public Embedder {
 public:
  HttpEmbedder(EmbedderOptions options, const EmbedderCalibration& calibration,
               http::ClientOptions client, Metrics& metrics)
      : options_(std::move(options)), calibration_(calibration), client_(client, metrics) {}

  const EmbedderCalibration& calibration() const override { return calibration_; }

  StatusOr<std::vector<index::Vector>> Embed(std::span<const std::string> texts,
                                             Deadline deadline) override {
    std::vector<index::Vector> vectors;
    vectors.reserve(texts.size());
    while (!texts.empty()) {
      const auto batch = texts.first(std::min(options_.batch, texts.size()));
      texts = texts.subspan(batch.size());
      WINNOW_ASSIGN_OR_RETURN(std::vector<index::Vector> part, Ask(batch, deadline));
      std::move(part.begin(), part.end(), std::back_inserter(vectors));
    }
    return vectors;
  }

 private:
  StatusOr<std::vector<index::Vector>> Ask(std::span<const std::string> texts, Deadline deadline) {
    const auto now = steady_clock::now();
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - now);
    if (left <= milliseconds(0))
      return DeadlineExceeded("the deadline left no time for embeddings");
    std::vector<std::string> cut;
    for (const std::string& text : texts) cut.push_back(EmbeddingText(text));
    http::JsonPost post;
    post.url = options_.url + "/embeddings";
    if (!options_.key.empty()) post.headers.push_back({"Authorization", "Bearer " + options_.key});
    post.body = EmbeddingRequest(options_.model, cut);
    post.timeout = std::min(left, options_.timeout);
    post.max_body = texts.size() * index::kMaxDimensions * kBytesPerNumber + kBytesAround;
    WINNOW_ASSIGN_OR_RETURN(const std::string body,
                            http::PostJson(client_, post, SystemClock().Now()));
    return ParseEmbeddings(body, texts.size());
  }

  const EmbedderOptions options_;
  const EmbedderCalibration calibration_;
  http::Client client_;
};

std::string ModelNames() {
  std::string names;
  for (const EmbedderCalibration& known : Calibrations()) {
    names += (names.empty() ? "" : ", ") + known.model;
  }
  return names;
}

}  // namespace

std::string UncalibratedModel(const std::string& model) {
  return "'" + model + "' is not calibrated, so its cosines say nothing: use one of " +
         ModelNames() + ", or calibrate it by tools/dedup/embedder_report and say where they lie";
}

std::string EmbeddingRequest(const std::string& model, std::span<const std::string> texts) {
  std::string json = "{\"model\":";
  AppendQuoted(model, json);
  json += ",\"encoding_format\":\"float\",\"input\":[";
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) json += ',';
    AppendQuoted(texts[i], json);
  }
  return json + "]}";
}

StatusOr<std::vector<index::Vector>> ParseEmbeddings(const std::string& body, size_t count) {
  StatusOr<JsonValue> root = ParseJson(body, "embeddings");
  if (!root.ok()) return NoEmbedding("it is not valid JSON");
  const JsonValue* data = Member(*root, "data");
  if (data == nullptr || data->kind != JsonValue::Kind::kArray || data->items.size() != count) {
    return NoEmbedding("'data' is not an array of " + std::to_string(count));
  }
  std::vector<index::Vector> vectors(count);
  for (size_t i = 0; i < count; ++i) {
    const JsonValue& item = data->items[i];
    // Servers may answer in any order.
    double place = static_cast<double>(i);
    if (const JsonValue* index = Member(item, "index"); index != nullptr) {
      if (!ParseNumber(*index, place)) return NoEmbedding("an 'index' is not a number");
    }
    if (!(place >= 0 && place < static_cast<double>(count))) {
      return NoEmbedding("an 'index' is out of range");
    }
    const JsonValue* embedding = Member(item, "embedding");
    if (embedding == nullptr) return NoEmbedding("an item has no 'embedding'");
    WINNOW_ASSIGN_OR_RETURN(vectors[static_cast<size_t>(place)], ParseVector(*embedding));
  }
  for (const index::Vector& vector : vectors) {
    if (vector.empty() || vector.size() != vectors.front().size()) {
      return NoEmbedding("an embedding is missing, or their dimensions differ");
    }
  }
  return vectors;
}

StatusOr<std::unique_ptr<Embedder>> MakeHttpEmbedder(const EmbedderOptions& options,
                                                     Metrics& metrics) {
  const EmbedderCalibration* calibration = FindCalibration(options.model);
  if (calibration == nullptr) {
    return InvalidField("model", UncalibratedModel(options.model));
  }
  return MakeHttpEmbedder(options, *calibration, metrics);
}

StatusOr<std::unique_ptr<Embedder>> MakeHttpEmbedder(const EmbedderOptions& options,
                                                     const EmbedderCalibration& calibration,
                                                     Metrics& metrics) {
  const StatusOr<std::string> origin = http::OriginOf(options.url);
  if (!origin.ok()) return InvalidField("url", "is not an http or https URL");
  http::ClientOptions client;
  client.name = "embedder";
  client.allow = {*origin};
  return std::make_unique<HttpEmbedder>(options, calibration, std::move(client), metrics);
}

}  // namespace winnow::dedup
