#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/dedup/index/vector_field.h"
#include "services/dedup/text/normalizer.h"
#include "services/dedup/text/title_words.h"
#include "services/dedup/text/token_order.h"

namespace winnow::dedup {

// Titles with fewer characters say too little: their leads have to agree as well.
inline constexpr size_t kShortTitle = 8;
// Leads are kept of titles that a short one could match.
inline constexpr size_t kLeadKeptBelow = 12;
// Jaccard from which leads agree; every hand-read pair above it was of one story.
inline constexpr double kLeadAgreement = 0.3;
// What counts as lead: the beginning of the text, in bytes before and characters after
// normalising. A lead lies within, whatever markup surrounds it.
inline constexpr size_t kLeadBytes = 4'000;
inline constexpr size_t kLeadCharacters = 200;
// Of these the first are compared. More would find no more leads that were only cut elsewhere, and
// each character costs 8 bytes a document in the index of leads.
inline constexpr size_t kLeadCompared = 120;

// What of a document is compared.
struct Fingerprint {
  std::string normalized_title;
  std::vector<index::Token> title;
  std::vector<index::Token> lead;
  uint64_t url_hash = 0;    // of the canonical URL; 0: no URL
  uint64_t title_hash = 0;  // of the normalised title without spaces; 0: nothing is left
  bool has_short_title = false;
  bool may_match_short_title = false;  // has under kLeadKeptBelow characters
  index::Vector vector;                // of the title's meaning; empty where no embedder gave one
};

// The text rules of one build: what makes fingerprints. Immutable, shared by all threads.
class TextRules {
 public:
  TextRules(Normalizer normalizer, TokenOrder order, TitleWords words)
      : normalizer_(std::move(normalizer)), order_(std::move(order)), words_(std::move(words)) {}

  const Normalizer& normalizer() const { return normalizer_; }
  const TokenOrder& order() const { return order_; }
  const TitleWords& words() const { return words_; }

  // `canonical_url` may be empty.
  Fingerprint Of(std::string_view title, std::string_view text,
                 std::string_view canonical_url) const;
  // From what the store keeps of a document: both are normalised already.
  Fingerprint OfNormalized(std::string_view title, std::string_view lead,
                           std::string_view canonical_url) const;

  // Working memory of AppendNormalized, reused from one document to the next.
  struct Scratch {
    std::string compact;
    TokenOrder::Scratch order;
  };
  struct Appended {
    uint64_t url_hash = 0;
    uint64_t title_hash = 0;
    bool has_short_title = false;
    bool may_match_short_title = false;
    size_t title_end = 0;  // where the title's tokens end and the lead's begin
  };
  // The same as OfNormalized, with the tokens of title and lead appended to `tokens`: for many
  // documents without an allocation each.
  Appended AppendNormalized(std::string_view title, std::string_view lead,
                            std::string_view canonical_url, Scratch& scratch,
                            std::vector<index::Token>& tokens) const;

  // The beginning of a text as it is compared and stored.
  std::string NormalizedLead(std::string_view text) const;

 private:
  Normalizer normalizer_;
  TokenOrder order_;
  TitleWords words_;
};

}  // namespace winnow::dedup
