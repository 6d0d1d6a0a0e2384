#include "services/newsfeed/labels/word_matcher.h"

#include <algorithm>
#include <deque>

#include "services/platform/base/ascii.h"

namespace winnow::newsfeed {
namespace {

// Whether the word at [begin, end) stands alone as far as its ends are ASCII.
bool StandsAlone(std::string_view text, size_t begin, size_t end) {
  if (IsAsciiLowerAlnum(text[begin]) && begin > 0 && IsAsciiLowerAlnum(text[begin - 1]))
    return false;
  return !(IsAsciiLowerAlnum(text[end - 1]) && end < text.size() && IsAsciiLowerAlnum(text[end]));
}

// Drops what lies inside a longer match.
std::vector<WordMatcher::Match> Longest(std::vector<WordMatcher::Match> matches) {
  std::sort(matches.begin(), matches.end(), [](const auto& a, const auto& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::vector<WordMatcher::Match> kept;
  size_t reached = 0;
  for (const WordMatcher::Match& match : matches) {
    if (match.end <= reached) continue;
    reached = match.end;
    kept.push_back(match);
  }
  return kept;
}

}  // namespace

WordMatcher::WordMatcher(const std::vector<std::string>& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    int node = 0;
    for (const char c : words[i]) {
      const auto byte = static_cast<unsigned char>(c);
      int child = Child(node, byte);
      if (child < 0) {
        child = static_cast<int>(nodes_.size());
        auto& next = nodes_[static_cast<size_t>(node)].next;
        next.insert(std::lower_bound(next.begin(), next.end(), std::pair(byte, 0)), {byte, child});
        nodes_.emplace_back();
      }
      node = child;
    }
    nodes_[static_cast<size_t>(node)].word = static_cast<int>(i);
    lengths_.push_back(words[i].size());
  }
  Link();
}

// Breadth first: what a node falls back to is nearer to the root and known already.
void WordMatcher::Link() {
  std::deque<int> queue;
  for (const auto& [byte, child] : nodes_[0].next) queue.push_back(child);
  while (!queue.empty()) {
    const int node = queue.front();
    queue.pop_front();
    for (const auto& [byte, child] : nodes_[static_cast<size_t>(node)].next) {
      Node& below = nodes_[static_cast<size_t>(child)];
      below.fail = Step(nodes_[static_cast<size_t>(node)].fail, byte);
      const Node& fallback = nodes_[static_cast<size_t>(below.fail)];
      below.shorter = fallback.word >= 0 ? below.fail : fallback.shorter;
      queue.push_back(child);
    }
  }
}

int WordMatcher::Child(int node, unsigned char byte) const {
  const auto& next = nodes_[static_cast<size_t>(node)].next;
  const auto found = std::lower_bound(next.begin(), next.end(), std::pair(byte, 0));
  return found != next.end() && found->first == byte ? found->second : -1;
}

int WordMatcher::Step(int node, unsigned char byte) const {
  while (true) {
    if (const int child = Child(node, byte); child >= 0) return child;
    if (node == 0) return 0;
    node = nodes_[static_cast<size_t>(node)].fail;
  }
}

std::vector<WordMatcher::Match> WordMatcher::Find(std::string_view text) const {
  std::vector<Match> matches;
  int node = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    node = Step(node, static_cast<unsigned char>(text[i]));
    for (int at = node; at != 0; at = nodes_[static_cast<size_t>(at)].shorter) {
      const int word = nodes_[static_cast<size_t>(at)].word;
      if (word < 0) continue;
      const size_t index = static_cast<size_t>(word);
      const size_t begin = i + 1 - lengths_[index];
      if (StandsAlone(text, begin, i + 1)) matches.push_back({index, begin, i + 1});
    }
  }
  return Longest(std::move(matches));
}

std::string WordMatcher::Fold(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) {
    c = IsAsciiSpace(c) ? ' ' : ToLowerAscii(c);
  }
  return folded;
}

}  // namespace winnow::newsfeed
