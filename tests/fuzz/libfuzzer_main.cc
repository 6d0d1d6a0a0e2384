#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/fuzz.h"

// One binary for all targets: WINNOW_FUZZ_TARGET names which.
namespace {

const winnow::fuzz::Target& ChosenTarget() {
  const char* name = std::getenv("WINNOW_FUZZ_TARGET");
  for (const auto& target : winnow::fuzz::Targets()) {
    if (name != nullptr && target.name == name) return target;
  }
  std::fputs("WINNOW_FUZZ_TARGET must be one of:\n", stderr);
  for (const auto& target : winnow::fuzz::Targets()) {
    std::fprintf(stderr, "  %.*s\n", static_cast<int>(target.name.size()), target.name.data());
  }
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const winnow::fuzz::Target& target = ChosenTarget();
  target.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
