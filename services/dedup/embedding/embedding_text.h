#pragma once

#include <string>
#include <string_view>

namespace winnow::dedup {

// What a model is asked to embed: the text as it is compared, cut to about 512 tokens. Servers do
// not cut by themselves, and their time grows faster than the text.
std::string EmbeddingText(std::string_view normalized);

}  // namespace winnow::dedup
