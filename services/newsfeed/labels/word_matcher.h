#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace winnow::newsfeed {

// Finds all of many words in one pass (Aho-Corasick, over bytes of UTF-8). An ASCII letter or digit
// at a word's end must not touch another one in the text: "ev" is not in "every", but in
// "EV시장". A word inside a longer one that was found is not found: "탄소" is not in "탄소중립"
// when both are words.
class WordMatcher {
 public:
  struct Match {
    size_t word = 0;  // index as given
    size_t begin = 0;
    size_t end = 0;  // bytes of the folded text
  };

  WordMatcher() = default;
  // Words as Fold leaves them, none empty.
  explicit WordMatcher(const std::vector<std::string>& words);

  // In order of their begin. `text` is folded.
  std::vector<Match> Find(std::string_view text) const;

  // ASCII letters to lower case, ASCII white space to spaces: every byte stays where it is.
  static std::string Fold(std::string_view text);

 private:
  struct Node {
    std::vector<std::pair<unsigned char, int>> next;  // sorted
    int fail = 0;
    int word = -1;    // that ends here
    int shorter = 0;  // the next node on the way of `fail` where a word ends; 0: none
  };
  int Step(int node, unsigned char byte) const;
  int Child(int node, unsigned char byte) const;  // -1: none
  void Link();

  std::vector<Node> nodes_{1};
  std::vector<size_t> lengths_;
};

}  // namespace winnow::newsfeed
