#include "services/dedup/embedding/embedding_text.h"

#include <cstddef>

namespace winnow::dedup {
namespace {

// In quarters of a token: subword models need about one for four Latin letters, and about two for
// three syllables of Korean or for one character of most other scripts.
constexpr size_t kMaxQuarters = 4 * 512;
constexpr size_t kLatin = 1;
constexpr size_t kOther = 3;

}  // namespace

std::string EmbeddingText(std::string_view normalized) {
  size_t quarters = 0;
  size_t at = 0;
  for (; at < normalized.size(); ++at) {
    const auto byte = static_cast<unsigned char>(normalized[at]);
    if ((byte & 0xC0U) == 0x80U) continue;
    quarters += byte < 0x80 ? kLatin : kOther;
    if (quarters > kMaxQuarters) break;
  }
  return std::string(normalized.substr(0, at));
}

}  // namespace winnow::dedup
