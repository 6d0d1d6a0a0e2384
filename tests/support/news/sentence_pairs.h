#pragma once

#include <string>
#include <vector>

namespace winnow::test {

// Two sentences, and whether they mean the same.
struct SentencePair {
  std::string first;
  std::string second;
  bool is_same = false;
};

// A set of the folder pairs of WINNOW_DATA, or of ../shared/data beside the repository: korsts-dev,
// korsts-train (the same from score 4 on), question-pair-train, parakqc (each group's own pairs,
// and as many of two groups drawn at random). None where the file is not there. Throws when it is
// bad.
std::vector<SentencePair> ReadSentencePairs(const std::string& name);

}  // namespace winnow::test
