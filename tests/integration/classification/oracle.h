#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace winnow::classification {

// What a video holds after what was done to it, by the simplest means. Comments are numbers from 0;
// an outcome is a CommentStatus as a number, or kFailed.
class Oracle {
 public:
  static constexpr int kFailed = 4;
  using Verdicts = std::vector<std::pair<int, int>>;  // comment and outcome
  struct Counts {
    int64_t classified = 0;
    int64_t failed = 0;
    std::array<int64_t, 4> statuses{};  // by status; 0: unclassified
    bool operator==(const Counts&) const = default;
  };

  void Import(int count) { comments_ += count; }
  int comments() const { return comments_; }
  void Start(const std::string& run) { runs_[run].outcomes.assign(size_t(comments_), 0); }
  void Cancel(const std::string& run) { runs_[run].cancelled = true; }

  // Answers how many outcomes it writes: the first of a comment in a message, where none stands
  // yet or a failure is replaced.
  int Deliver(const std::string& run, const Verdicts& verdicts) {
    std::vector<int>& outcomes = runs_[run].outcomes;
    std::set<int> seen;
    int written = 0;
    for (const auto& [comment, outcome] : verdicts) {
      if (comment >= int(outcomes.size()) || !seen.insert(comment).second) continue;
      int& stands = outcomes[size_t(comment)];
      if (stands != 0 && (stands != kFailed || outcome == kFailed)) continue;
      stands = outcome;
      ++written;
    }
    return written;
  }

  bool IsComplete(const std::string& run) const {
    const Run& known = runs_.at(run);
    return !known.cancelled && std::ranges::count(known.outcomes, 0) == 0;
  }
  bool MayActivate(const std::string& run) const {
    if (run == active_) return true;
    return IsComplete(run) && std::ranges::count(runs_.at(run).outcomes, kFailed) == 0;
  }
  void Activate(const std::string& run) {
    if (run != active_) previous_ = std::exchange(active_, run);
  }
  bool MayRollBack(const std::string& run) const { return run == active_ && !previous_.empty(); }
  void RollBack() { std::swap(active_, previous_); }
  const std::string& active() const { return active_; }

  // What one person says stands alone; a bulk stands above the newest 10 of what was said before.
  void Override(int comment, int status) { said_[comment] = {{"", status}}; }
  void Bulk(const std::string& bulk, int comment, int status) {
    auto& all = said_[comment];
    all.emplace_back(bulk, status);
    if (all.size() > 11) all.erase(all.begin());
  }
  void Undo(int comment) { said_.erase(comment); }
  void UndoBulk(const std::string& bulk) {
    for (auto& [comment, all] : said_) {
      std::erase_if(all, [&](const auto& one) { return one.first == bulk; });
    }
    std::erase_if(said_, [](const auto& one) { return one.second.empty(); });
  }
  size_t overrides() const { return said_.size(); }

  bool Knows(const std::string& run) const { return runs_.contains(run); }
  // Of the run ""'s: what people say alone.
  Counts CountsOf(const std::string& run) const {
    static const Run kNone;
    const Run& known = run.empty() ? kNone : runs_.at(run);
    Counts counts;
    for (int comment = 0; comment < comments_; ++comment) {
      const int outcome =
          comment < int(known.outcomes.size()) ? known.outcomes[size_t(comment)] : 0;
      counts.classified += outcome != 0 && outcome != kFailed;
      counts.failed += outcome == kFailed;
      ++counts.statuses[size_t(Resolve(comment, outcome))];
    }
    return counts;
  }

 private:
  struct Run {
    std::vector<int> outcomes{};  // of its input, by comment; 0: none yet
    bool cancelled = false;
  };
  int Resolve(int comment, int outcome) const {
    const auto said = said_.find(comment);
    if (said != said_.end()) return said->second.back().second;
    return outcome == kFailed ? 0 : outcome;
  }

  int comments_ = 0;
  std::map<std::string, Run> runs_;
  std::string active_, previous_;
  std::map<int, std::vector<std::pair<std::string, int>>> said_;  // by bulk, newest last
};

}  // namespace winnow::classification
