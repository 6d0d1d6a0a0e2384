#pragma once

#include <span>
#include <string_view>

namespace winnow::fuzz {

// What is fed with bytes: a parser or normaliser whose input comes from outside. `run` takes any
// bytes, checks what must hold for all of them by FUZZ_CHECK, and returns.
struct Target {
  std::string_view name;
  void (*run)(std::string_view bytes);
  // Good inputs and pieces of them, to begin from.
  std::span<const std::string_view> seeds;
};

// All of them (targets.cc).
std::span<const Target> Targets();

// Prints what failed and ends the process, which is how libFuzzer learns of it.
[[noreturn]] void Fail(const char* condition, const char* file, int line);

#define FUZZ_CHECK(condition)                                               \
  do {                                                                      \
    if (!(condition)) ::winnow::fuzz::Fail(#condition, __FILE__, __LINE__); \
  } while (false)

}  // namespace winnow::fuzz
