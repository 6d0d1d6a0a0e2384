#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "services/classification/llm/labels.h"

// What a language model is asked, as an OpenAI-compatible server reads it.
namespace winnow::classification {

// Of the wording and the schema below: part of a verdict's model and of its cache.
inline constexpr int kPromptVersion = 1;
// A schema's properties and its answers stay within what such servers take.
inline constexpr int kMaxItems = 250;

struct ChatQuestion {
  std::string model;
  int max_output_tokens = 0;
  std::span<const Label> labels;
  std::span<const std::string_view> texts;  // asked as "1", "2", ...
  std::string nonce;                        // that no text can hold: random
};

// The body of the request: a strict JSON schema whose properties are the ordinals, all required,
// each one of the labels. Texts stand as strings of one JSON object inside a fence of the nonce.
std::string ChatRequest(const ChatQuestion& question);

// `text` as a JSON string that also holds no '<' and no '[', with which servers' own marks of
// roles and turns begin.
std::string FencedText(std::string_view text);

// Tokens of a text, roughly: what batches are packed by.
size_t EstimateTokens(std::string_view text);

}  // namespace winnow::classification
