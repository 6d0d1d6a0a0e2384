#include "tools/classification/corpus.h"

#include <zlib.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>

#include "services/classification/model/linear_model.h"
#include "services/platform/base/format/json_reader.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/text.h"

namespace winnow::classification {
namespace {

std::string_view BytesOf(const std::u32string& text) {
  return {reinterpret_cast<const char*>(text.data()), text.size() * sizeof(char32_t)};
}

// Fields of one line that labels are made of.
struct Row {
  std::string text;
  std::string label;         // of "hate" or "label"
  std::set<int64_t> labels;  // of "labels"
  int64_t flag = 0;          // of "profane" or "spam"
};

Row ReadRow(const std::string& line, const std::string& path) {
  Row row;
  JsonReader json(line);
  const bool read = json.ReadObject([&](std::string_view name) {
    if (name == "text") return json.ReadString(row.text);
    if (name == "hate" || name == "label") return json.ReadString(row.label);
    if (name == "profane" || name == "spam") {
      if (json.Peek() != JsonReader::Kind::kBool) return json.ReadInteger(row.flag);
      bool flag = false;
      const bool ok = json.ReadBool(flag);
      row.flag = flag;
      return ok;
    }
    if (name != "labels") return json.Skip();
    return json.ReadArray([&] {
      int64_t label = 0;
      if (!json.ReadInteger(label)) return false;
      row.labels.insert(label);
      return true;
    });
  });
  if (!read) throw std::runtime_error(path + ": " + json.error());
  row.text = UnescapeHtml(row.text);
  return row;
}

// K-MHaS's kinds of hate: 3 is profanity, 8 none.
constexpr int64_t kProfanity = 3;
constexpr int64_t kNone = 8;

struct Source {
  const char* file;
  std::function<bool(const Row&)> positive;
};

const Source& SourceOf(const std::string& head) {
  static const std::map<std::string, Source> sources = {
      {"toxic", {"beep-train.jsonl.gz", [](const Row& r) { return r.label != "none"; }}},
      {"hate",
       {"kmhas-test-as-train.jsonl.gz", [](const Row& r) { return !r.labels.contains(kNone); }}},
      {"hate_profanity",
       {"kmhas-test-as-train.jsonl.gz",
        [](const Row& r) { return r.labels.contains(kProfanity); }}},
      {"profanity", {"curse.jsonl.gz", [](const Row& r) { return r.flag != 0; }}},
      {"offensive_en", {"davidson.jsonl.gz", [](const Row& r) { return r.label != "neither"; }}},
      {"spam", {"youtube-spam.jsonl.gz", [](const Row& r) { return r.flag != 0; }}},
  };
  return sources.at(head);
}

}  // namespace

std::vector<FeatureValue> FeaturesOf(const std::string& text) {
  std::u32string normal;
  NormalizeComment(text, normal);
  std::map<uint32_t, uint32_t> counts;
  const size_t total =
      ForEachFeature(normal, [&](uint32_t bucket, size_t, size_t) { ++counts[bucket]; });
  const double norm = total == 0 ? 0 : 1 / std::sqrt(static_cast<double>(total));
  std::vector<FeatureValue> features;
  features.reserve(counts.size());
  for (const auto& [bucket, count] : counts) {
    features.push_back({bucket, static_cast<float>(norm * count)});
  }
  return features;
}

std::vector<Example> MakeExamples(const std::vector<LabelledText>& texts, uint32_t folds) {
  std::vector<Example> examples;
  std::set<uint64_t> seen;
  std::u32string normal;
  for (const LabelledText& labelled : texts) {
    NormalizeComment(labelled.text, normal);
    const uint64_t hash = Hash64(BytesOf(normal));
    if (!seen.insert(hash).second) continue;
    examples.push_back({FeaturesOf(labelled.text), labelled.positive,
                        static_cast<uint32_t>((hash >> 20) % folds)});
  }
  return examples;
}

std::vector<std::string> ReadGzipLines(const std::string& path) {
  const gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error("cannot open " + path);
  std::string all;
  char buffer[1 << 16];
  int read = 0;
  while ((read = gzread(file, buffer, sizeof buffer)) > 0) {
    all.append(buffer, static_cast<size_t>(read));
  }
  gzclose(file);
  if (read < 0) throw std::runtime_error("cannot read " + path);
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find('\n', begin), all.size());
    if (end > begin) lines.push_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::vector<LabelledText> ReadCorpus(const std::string& directory, const std::string& head) {
  const Source& source = SourceOf(head);
  const std::string path = directory + "/" + source.file;
  std::vector<LabelledText> texts;
  for (const std::string& line : ReadGzipLines(path)) {
    Row row = ReadRow(line, path);
    const bool positive = source.positive(row);
    texts.push_back({std::move(row.text), positive});
  }
  return texts;
}

std::vector<LabelledText> ReadSuggestions(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  std::vector<LabelledText> texts;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    if (line.size() < 3 || line[1] != ' ' || (line[0] != '0' && line[0] != '1')) {
      throw std::runtime_error(path + ": a line is not 0 or 1, a space, a text: " + line);
    }
    texts.push_back({line.substr(2), line[0] == '1'});
  }
  return texts;
}

}  // namespace winnow::classification
