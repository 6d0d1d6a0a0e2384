#include "services/dedup/judge/namespace_window.h"

#include <algorithm>
#include <chrono>

namespace winnow::dedup {
namespace {

// Long windows have longer segments, so that there are never too many of them.
constexpr int kMaxSegments = 512;

index::WindowOptions OptionsOf(const Policy& policy, uint16_t segment_entries) {
  return {.floor = policy.candidate_floor,
          .lead_floor = FindsByLead(policy) ? policy.lead_threshold : 0,
          .segment_span = std::max<Micros>(std::chrono::hours(1), policy.window / kMaxSegments),
          .segment_entries = segment_entries};
}

// The plain mode compares leads of titles that a short one could match alone: its guard asks.
template <class Print>
std::span<const index::Token> LeadKept(const Print& print, const Policy& policy) {
  return FindsByLead(policy) || print.may_match_short_title
             ? std::span<const index::Token>(print.lead)
             : std::span<const index::Token>();
}

// Whether a window that was loaded for one policy serves the other.
bool ServesToo(const Policy& loaded, const Policy& next) {
  return next.candidate_floor == loaded.candidate_floor && next.rule_mode == loaded.rule_mode &&
         (!FindsByLead(next) || next.lead_threshold == loaded.lead_threshold);
}

}  // namespace

NamespaceWindow::NamespaceWindow(const TextRules& rules, const Policy& policy, int64_t position,
                                 uint16_t segment_entries, const EmbedderCalibration* meaning)
    : rules_(rules),
      meaning_(meaning),
      policy_(policy),
      loaded_window_(policy.window),
      index_(OptionsOf(policy, segment_entries)),
      position_(position),
      trial_position_(position) {}

bool NamespaceWindow::Apply(const Policy& policy) {
  if (policy == policy_) return true;
  if (policy.window > loaded_window_ || !ServesToo(policy_, policy)) return false;
  policy_ = policy;
  return true;
}

uint32_t NamespaceWindow::ChannelNumber(std::string_view channel) {
  const auto next = static_cast<uint32_t>(channels_.size());
  return channels_.try_emplace(std::string(channel), next).first->second;
}

void NamespaceWindow::Keep(const LogEntry& entry) {
  const Fingerprint print = rules_.OfNormalized(entry.title, entry.lead, entry.canonical_url);
  index::NewEntry next{
      entry.seq,        entry.arrival_time, ChannelNumber(entry.channel), print.url_hash,
      print.title_hash, print.title,        LeadKept(print, policy_),     {}};
  next.text = entry.title;
  next.vector = entry.vector;
  Fingerprint root;
  if (!entry.is_root()) {
    root = rules_.OfNormalized(entry.root_title, entry.root_lead, "");
    next.root = index::Root{entry.root_seq, ChannelNumber(entry.root_channel), root.title,
                            LeadKept(root, policy_), entry.root_vector};
  }
  index_.Append(next);
  position_ = trial_position_ = entry.seq;
  last_arrival_ = trial_arrival_ = entry.arrival_time;
}

index::Root NamespaceWindow::RootAt(index::EntryRef ref) const {
  return {index_.seq(ref), index_.channel(ref), index_.title(ref), index_.lead(ref),
          index_.vector(ref)};
}

std::set<int64_t> NamespaceWindow::MissingOriginals(const WindowPage& page) const {
  std::set<int64_t> missing;
  page.ForEach([&](const WindowPage::Entry& entry) {
    // The log has no gaps: what comes after the first on the page is on it.
    if (entry.is_root() || entry.root_seq >= page.first_seq()) return;
    if (!index_.FindSeq(entry.root_seq)) missing.insert(entry.root_seq);
  });
  return missing;
}

void NamespaceWindow::Keep(const WindowPage& page, const std::map<int64_t, LogEntry>& originals) {
  std::vector<uint32_t> channels;
  for (const std::string& channel : page.channels()) channels.push_back(ChannelNumber(channel));
  page.ForEach([&](const WindowPage::Entry& entry) {
    index::NewEntry next{entry.seq,        entry.arrival, channels[entry.channel],  entry.url_hash,
                         entry.title_hash, entry.title,   LeadKept(entry, policy_), {}};
    next.text = entry.text;
    next.vector = entry.vector;
    Fingerprint stored;
    if (!entry.is_root()) {
      const auto ref = index_.FindSeq(entry.root_seq);
      next.root = ref ? RootAt(*ref) : RootOf(entry.root_seq, originals, stored);
    }
    index_.Append(next);
    position_ = trial_position_ = entry.seq;
    last_arrival_ = trial_arrival_ = entry.arrival;
  });
}

index::Root NamespaceWindow::RootOf(int64_t seq, const std::map<int64_t, LogEntry>& originals,
                                    Fingerprint& print) {
  static const LogEntry kNone;
  const auto at = originals.find(seq);
  const LogEntry& original = at == originals.end() ? kNone : at->second;
  print = rules_.OfNormalized(original.title, original.lead, "");
  return {seq, ChannelNumber(original.channel), print.title, LeadKept(print, policy_),
          original.vector};
}

Judgement NamespaceWindow::Judge(const Fingerprint& print, std::string_view channel, Time arrival) {
  return dedup::Judge(print, ChannelNumber(channel), arrival, index_,
                      {policy_, rules_.words(), meaning_}, scratch_);
}

void NamespaceWindow::Append(int64_t seq, const Fingerprint& print, std::string_view channel,
                             Time arrival, const Judgement& judged) {
  index::NewEntry next{seq,
                       arrival,
                       ChannelNumber(channel),
                       print.url_hash,
                       print.title_hash,
                       print.title,
                       LeadKept(print, policy_),
                       {}};
  next.text = print.normalized_title;
  next.vector = print.vector;
  if (judged.is_duplicate()) next.root = index_.root(judged.candidates.front().ref);
  index_.Append(next);
  trial_position_ = seq;
  trial_arrival_ = arrival;
}

void NamespaceWindow::CommitPending() {
  position_ = trial_position_;
  last_arrival_ = trial_arrival_;
  Expire();
}

void NamespaceWindow::RollbackPending() {
  index_.RemoveAfter(position_);
  trial_position_ = position_;
  trial_arrival_ = last_arrival_;
}

}  // namespace winnow::dedup
