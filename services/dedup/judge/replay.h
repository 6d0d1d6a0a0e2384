#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/dedup/judge/namespace_window.h"

// A log decided again, by any rules.
namespace winnow::dedup {

// Decides entries of a namespace's log one after the other, as if they arrived now and nothing else
// were known.
class Replay {
 public:
  Replay(const TextRules& rules, const Policy& policy, int64_t after_seq,
         const EmbedderCalibration* meaning);

  struct Outcome {
    Verdict verdict = Verdict::kUnique;
    Stage stage = Stage::kNone;
    double similarity = 0;
    int64_t root_seq = 0;  // its own when it is unique
  };
  // The next entry; seqs ascend.
  Outcome Next(const LogEntry& entry);

 private:
  const TextRules& rules_;
  NamespaceWindow window_;
};

// What another policy would change about the documents that are shown to it.
class Preview {
 public:
  // `meaning`: of the model that made the vectors; null: there is none.
  Preview(const TextRules& rules, const Policy& before, const Policy& after, int64_t after_seq,
          size_t max_changes, const EmbedderCalibration* meaning);

  struct Change {
    std::string document_id;
    std::string channel;
    Replay::Outcome before;
    Replay::Outcome after;
    std::string original_before;  // empty when unique
    std::string original_after;
  };

  void Add(const LogEntry& entry);

  int64_t document_count = 0;
  int64_t duplicates_before = 0;
  int64_t duplicates_after = 0;
  int64_t newly_duplicate = 0;
  int64_t newly_unique = 0;
  int64_t other_original = 0;
  std::optional<Time> from;  // arrival of the oldest and of the newest
  std::optional<Time> until;
  std::vector<Change> changes;  // oldest first

 private:
  void Count(const LogEntry& entry, const Replay::Outcome& before, const Replay::Outcome& after);
  std::string OriginalOf(const Replay::Outcome& outcome) const;

  Replay before_;
  Replay after_;
  const int64_t after_seq_;
  const size_t max_changes_;
  std::vector<std::string> ids_;  // by seq, from after_seq_ + 1
};

}  // namespace winnow::dedup
