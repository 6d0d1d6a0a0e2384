#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>

#include "services/platform/base/hash.h"
#include "tests/fuzz/fuzz.h"

// Every fuzz target over the same inputs in each run: its seeds, and what becomes of them when they
// are cut, joined and changed. libFuzzer finds more, this finds what breaks at once.
namespace winnow::fuzz {
namespace {

constexpr size_t kMaxSize = 400;

// Of each target; WINNOW_FUZZ_INPUTS asks for more.
int CountInputs() {
  const char* sized = std::getenv("WINNOW_FUZZ_INPUTS");
  return sized != nullptr ? std::atoi(sized) : 4'000;
}

class Inputs {
 public:
  explicit Inputs(const Target& target) : target_(target), random_(Hash64(target.name)) {}

  std::string Next() {
    std::string input;
    for (size_t parts = 1 + random_() % 4; parts > 0; --parts) input += Part();
    for (size_t changes = random_() % 4; changes > 0; --changes) Change(input);
    input.resize(std::min(input.size(), kMaxSize));
    return input;
  }

 private:
  std::string_view Seed() { return target_.seeds[random_() % target_.seeds.size()]; }

  // A seed, a piece of one, or bytes.
  std::string Part() {
    const std::string_view seed = Seed();
    switch (random_() % 4) {
      case 0: {
        std::string bytes(random_() % 16, '\0');
        for (char& c : bytes) c = static_cast<char>(random_());
        return bytes;
      }
      case 1: {
        const size_t begin = random_() % seed.size();
        return std::string(seed.substr(begin, random_() % seed.size()));
      }
      default:
        return std::string(seed);
    }
  }

  void Change(std::string& input) {
    if (input.empty()) return;
    const size_t at = random_() % input.size();
    switch (random_() % 3) {
      case 0:
        input[at] = static_cast<char>(random_());
        return;
      case 1:
        input.erase(at, 1 + random_() % 4);
        return;
      default:
        input.insert(at, Seed().substr(0, 1 + random_() % 8));
    }
  }

  const Target& target_;
  std::mt19937_64 random_;
};

class FuzzSmoke : public ::testing::TestWithParam<Target> {};

TEST_P(FuzzSmoke, EveryInputIsTaken) {
  const Target& target = GetParam();
  target.run("");
  for (const std::string_view seed : target.seeds) target.run(seed);
  Inputs inputs(target);
  for (int left = CountInputs(); left > 0; --left) target.run(inputs.Next());
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzSmoke,
                         ::testing::ValuesIn(Targets().begin(), Targets().end()),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace winnow::fuzz
