#pragma once

#include <string_view>

namespace winnow::classification {

// Whether a comment reads as if it spoke to a model: such ones travel alone, so that no other
// comment can suffer. A wrong yes costs a call and nothing else.
bool IsInjectionSuspect(std::string_view text);

}  // namespace winnow::classification
