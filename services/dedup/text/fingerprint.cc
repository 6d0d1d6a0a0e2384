#include "services/dedup/text/fingerprint.h"

#include "services/dedup/text/tokens.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/text.h"

namespace winnow::dedup {
namespace {

// 0 stands for "nothing to hash".
uint64_t HashOf(std::string_view text) {
  if (text.empty()) return 0;
  const uint64_t hash = Hash64(text);
  return hash == 0 ? 1 : hash;
}

// At most `bytes` bytes, not ending within a character.
std::string_view CutBytes(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) --bytes;
  return text.substr(0, bytes);
}

// At most the first `most` characters.
std::string_view CutCharacters(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  size_t at = 0;
  for (size_t count = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
    if (begins && count++ == most) break;
  }
  return text.substr(0, at);
}

}  // namespace

Fingerprint TextRules::Of(std::string_view title, std::string_view text,
                          std::string_view canonical_url) const {
  const std::string normalized = normalizer_.Normalize(title);
  return OfNormalized(normalized, NormalizedLead(text), canonical_url);
}

Fingerprint TextRules::OfNormalized(std::string_view title, std::string_view lead,
                                    std::string_view canonical_url) const {
  const std::string compact = Compact(title);
  const size_t characters = CountCharacters(compact);
  Fingerprint print;
  print.normalized_title = title;
  print.title = order_.TokensOf(title);
  print.lead = order_.TokensOf(CutCharacters(lead, kLeadCompared));
  print.url_hash = HashOf(canonical_url);
  print.title_hash = HashOf(compact);
  print.has_short_title = characters < kShortTitle;
  print.may_match_short_title = characters < kLeadKeptBelow;
  return print;
}

TextRules::Appended TextRules::AppendNormalized(std::string_view title, std::string_view lead,
                                                std::string_view canonical_url, Scratch& scratch,
                                                std::vector<index::Token>& tokens) const {
  std::string& compact = scratch.compact;
  Appended print;
  CompactTo(title, compact);
  order_.AppendTokens(title, compact, scratch.order, tokens);
  print.title_end = tokens.size();
  const size_t characters = CountCharacters(compact);
  print.has_short_title = characters < kShortTitle;
  print.may_match_short_title = characters < kLeadKeptBelow;
  print.title_hash = HashOf(compact);
  print.url_hash = HashOf(canonical_url);
  lead = CutCharacters(lead, kLeadCompared);
  if (!lead.empty()) {
    CompactTo(lead, compact);
    order_.AppendTokens(lead, compact, scratch.order, tokens);
  }
  return print;
}

std::string TextRules::NormalizedLead(std::string_view text) const {
  return normalizer_.Normalize(CutBytes(text, kLeadBytes), kLeadCharacters);
}

}  // namespace winnow::dedup
