#include "tests/support/news/sentence_pairs.h"

#include <random>

#include "tests/support/news/data_lines.h"

namespace winnow::test {
namespace {

using simdjson::dom::element;

constexpr double kMinScore = 4;  // of KorSTS, 0 to 5

bool IsSame(const element& line) {
  bool is_same = false;
  if (line["duplicate"].get(is_same) == simdjson::SUCCESS) return is_same;
  double score = 0;
  return line["score"].get(score) == simdjson::SUCCESS && score >= kMinScore;
}

std::vector<std::string> TextsOf(const element& group) {
  std::vector<std::string> texts;
  simdjson::dom::array array;
  if (group["texts"].get(array) != simdjson::SUCCESS) return texts;
  for (const element& each : array) {
    std::string_view text;
    if (each.get(text) == simdjson::SUCCESS) texts.emplace_back(text);
  }
  return texts;
}

std::vector<SentencePair> PairsOf(const std::vector<std::vector<std::string>>& groups) {
  std::vector<SentencePair> pairs;
  for (const auto& group : groups) {
    for (size_t i = 0; i < group.size(); ++i) {
      for (size_t j = 0; j < i; ++j) pairs.push_back({group[j], group[i], true});
    }
  }
  std::mt19937_64 random(1);
  for (size_t left = pairs.size(); left > 0;) {
    const auto& one = groups[random() % groups.size()];
    const auto& other = groups[random() % groups.size()];
    if (&one == &other) continue;
    pairs.push_back({one[random() % one.size()], other[random() % other.size()], false});
    --left;
  }
  return pairs;
}

}  // namespace

std::vector<SentencePair> ReadSentencePairs(const std::string& name) {
  std::vector<SentencePair> pairs;
  std::vector<std::vector<std::string>> groups;
  ForEachDataLine("pairs/" + name + ".jsonl.gz", [&](const element& line) {
    if (auto texts = TextsOf(line); !texts.empty()) {
      groups.push_back(std::move(texts));
    } else {
      pairs.push_back({TextOf(line, "a"), TextOf(line, "b"), IsSame(line)});
    }
  });
  return groups.empty() ? pairs : PairsOf(groups);
}

}  // namespace winnow::test
