#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/dedup/index/vector_field.h"
#include "services/platform/base/clock.h"

// What is decided about a document, and why. Numbers are those of dedup.proto: they are stored.
namespace winnow::dedup {

enum class Verdict { kUnique = 1, kDuplicate = 2 };

enum class Stage {
  kNone = 0,
  kUrl = 1,
  kExact = 2,
  kToken = 3,
  kLead = 4,
  kEdit = 5,
  kSemantic = 6,
};

enum class Guard {
  kSameChannel = 1,
  kShortTitle = 2,
  kChain = 3,
  kTemplate = 4,
  kContradiction = 5,
};

enum class Degradation { kStore = 1, kEmbedder = 2 };

// How similar two documents are: the token sets of their titles, and what else was measured.
struct Scores {
  double jaccard = 0;
  double cosine = 0;
  double overlap = 0;
  std::optional<double> lead_jaccard;  // where both leads are compared
  double edit_similarity = 0;          // of the titles
  std::optional<double> semantic;      // on the calibrated scale, where an embedder compared them
  double probability = 0;              // of one story, by the calibrated rule
  std::optional<double> characters;    // CharacterSimilarity of the titles, where two are compared
};

// An earlier document that came into question.
struct Candidate {
  std::string document_id;
  std::string original_id;  // its own id when it is an original
  std::string channel;
  Scores scores;
  Stage stage = Stage::kNone;  // kNone: the scores came near, no more
  std::vector<Guard> guards;
};

inline constexpr size_t kMaxCandidates = 5;

enum class ReviewKind { kDuplicate = 1, kUnique = 2 };

// What a person said about a decision; the last one of several.
struct Override {
  Verdict verdict = Verdict::kUnique;
  std::string original_id;  // empty when unique
  std::string note;
  std::string actor;
  Time create_time;
  int64_t revision = 0;
};

struct Decision {
  std::string ns;
  std::string document_id;
  std::string channel;
  Verdict verdict = Verdict::kUnique;
  std::string original_id;  // empty when unique
  double similarity = 0;
  Stage stage = Stage::kNone;
  std::vector<Candidate> candidates;  // best first, at most kMaxCandidates
  int64_t policy_version = 0;
  std::vector<Degradation> degradations;
  bool recorded = false;
  Time arrival_time;
  Time decide_time;
  std::optional<Override> override_;  // where it was asked for
};

// A document as the log of its namespace keeps it.
struct LogEntry {
  int64_t seq = 0;
  std::string document_id;
  std::string channel;
  std::string title;  // normalised
  std::string lead;   // normalised
  std::string canonical_url;
  std::optional<Time> publish_time;
  Time arrival_time;
  int64_t root_seq = 0;  // first of its story; seq itself when it is the first
  // Of the first of its story, where that is another document.
  std::string root_channel;
  std::string root_title;
  std::string root_lead;
  // Of the titles' meanings, where they were made by the model that is asked for; else empty.
  index::Vector vector;
  index::Vector root_vector;

  bool is_root() const { return root_seq == seq; }
};

// What describes a document, without its text.
struct EntryName {
  std::string document_id;
  std::string channel;
};

}  // namespace winnow::dedup
