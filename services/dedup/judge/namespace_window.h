#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "services/dedup/judge/judge.h"
#include "services/dedup/log/decision.h"
#include "services/dedup/log/window_page.h"
#include "services/dedup/policy/policy.h"
#include "services/dedup/text/fingerprint.h"

namespace winnow::dedup {

// A namespace's window in memory, as of a position in its log. What any process committed is
// kept; a batch of its own is appended on trial, and stays only when it was committed too.
class NamespaceWindow {
 public:
  // Holds nothing yet of what comes after `position`. `segment_entries`: how much of it Shorten
  // forgets at once, at most 60,000.
  // `meaning`: of the model that makes the vectors; null: there is none.
  NamespaceWindow(const TextRules& rules, const Policy& policy, int64_t position,
                  uint16_t segment_entries, const EmbedderCalibration* meaning);

  const Policy& policy() const { return policy_; }
  // Takes the policy over. False when the window was loaded for a narrower one: load it anew.
  bool Apply(const Policy& policy);

  // Everything up to this seq is in, as far as it is within the window.
  int64_t position() const { return position_; }
  // A committed entry; seqs ascend.
  void Keep(const LogEntry& entry);
  // Committed entries, many at once. `originals`: those of MissingOriginals as the store has them,
  // by seq. The result is that of keeping each by itself.
  void Keep(const WindowPage& page, const std::map<int64_t, LogEntry>& originals);
  // Originals of entries on the page that are neither in the window nor on the page: older than the
  // window, or forgotten to save memory.
  std::set<int64_t> MissingOriginals(const WindowPage& page) const;
  // There is nothing up to `position` that was not kept.
  void Reach(int64_t position) { position_ = trial_position_ = position; }

  Judgement Judge(const Fingerprint& print, std::string_view channel, Time arrival);

  // A document of the batch on trial, with what was judged of it just now.
  void Append(int64_t seq, const Fingerprint& print, std::string_view channel, Time arrival,
              const Judgement& judged);
  // The batch was committed, or was not.
  void CommitPending();
  void RollbackPending();

  size_t size() const { return index_.size(); }
  size_t bytes() const { return index_.bytes(); }
  // Arrival of the newest entry ever kept; Time::min() when there was none.
  Time last_arrival() const { return last_arrival_; }
  // Forgets what no document that arrives from now on can meet.
  void Expire() {
    if (last_arrival_ != Time::min()) index_.Expire(last_arrival_ - policy_.window);
  }
  // Forgets the oldest part of the window to save memory. False when there is too little left.
  bool Shorten() { return index_.DropOldestSegment(); }
  // Channels are numbered as they come; after this many it is time to load the window anew.
  bool has_too_many_channels() const { return channels_.size() > kMaxChannels; }

 private:
  static constexpr size_t kMaxChannels = 100'000;

  uint32_t ChannelNumber(std::string_view channel);
  // The original as the index has it.
  index::Root RootAt(index::EntryRef ref) const;
  // The original as the store has it; of none where it is not there. Refers to `print`, which this
  // fills, and to `originals`.
  index::Root RootOf(int64_t seq, const std::map<int64_t, LogEntry>& originals, Fingerprint& print);

  const TextRules& rules_;
  const EmbedderCalibration* meaning_;
  Policy policy_;
  Micros loaded_window_;  // what Load asked the store for
  index::WindowIndex index_;
  index::ProbeScratch scratch_;
  std::unordered_map<std::string, uint32_t> channels_;
  int64_t position_;
  int64_t trial_position_;
  Time last_arrival_ = Time::min();
  Time trial_arrival_ = Time::min();
};

}  // namespace winnow::dedup
