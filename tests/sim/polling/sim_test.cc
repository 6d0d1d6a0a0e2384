#include "tests/sim/polling/sim.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

// The registry's laws under everything that can go wrong, and the proof that each defect of the
// published system would be seen. WINNOW_SIM_STEPS sizes the first (tests/README.md).
namespace winnow::polling::sim {
namespace {

constexpr int kEpisode = 1000;  // steps of one world
constexpr uint64_t kFirstSeed = 20260130;
constexpr int kCatchWithin = 10'000;

int64_t StepsToRun() {
  const char* text = std::getenv("WINNOW_SIM_STEPS");
  return text == nullptr ? 200'000 : std::strtoll(text, nullptr, 10);
}

TEST(PollingSimulator, NoStepBreaksALaw) {
  const int64_t steps = StepsToRun();
  ASSERT_GT(steps, 0) << "WINNOW_SIM_STEPS must be a number of steps";
  for (int64_t done = 0; done < steps; done += kEpisode) {
    const uint64_t seed = kFirstSeed + static_cast<uint64_t>(done / kEpisode);
    const std::vector<Step> schedule = MakeSchedule(seed, kEpisode);
    const Broken broken = Play(schedule, Defect::kNone);
    ASSERT_EQ(broken.step, -1) << broken.law << "\nseed " << seed
                               << ", shrunk to: " << Describe(Shrink(schedule, Defect::kNone));
  }
  std::cout << steps << " steps in worlds of " << kEpisode << ", seeds from " << kFirstSeed
            << ": 0 laws broken\n";
}

class PublishedDefect : public testing::TestWithParam<int> {};

TEST_P(PublishedDefect, IsCaughtAndShrunk) {
  const auto defect = static_cast<Defect>(GetParam());
  int done = 0;
  for (uint64_t seed = kFirstSeed; done < kCatchWithin; ++seed, done += kEpisode) {
    const std::vector<Step> schedule = MakeSchedule(seed, kEpisode);
    const Broken broken = Play(schedule, defect);
    if (broken.step < 0) continue;
    const std::vector<Step> shrunk = Shrink(schedule, defect);
    EXPECT_EQ(Play(shrunk, defect).law, broken.law);
    EXPECT_LE(shrunk.size(), 60u) << Describe(shrunk);
    EXPECT_EQ(Play(shrunk, Defect::kNone).step, -1) << "the defect alone is to blame";
    std::cout << "defect " << GetParam() << " caught after " << done + broken.step + 1 << " steps ("
              << broken.law << "), shrunk to " << shrunk.size() << ": " << Describe(shrunk) << '\n';
    return;
  }
  FAIL() << "not caught within " << kCatchWithin << " steps";
}

INSTANTIATE_TEST_SUITE_P(All, PublishedDefect, testing::Range(1, kDefects + 1));

TEST(PollingSimulator, MeetsEveryChangeAndEveryReason) {
  Met met;
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 50; ++seed) {
    Met in_world = Play(MakeSchedule(seed, kEpisode), Defect::kNone).met;
    met.changes.merge(in_world.changes);
    met.reasons.merge(in_world.reasons);
  }
  EXPECT_EQ(met.changes.size(), 10u);
  EXPECT_EQ(met.reasons.size(), 6u);  // and none
}

TEST(PollingSimulator, TheSameSeedGivesTheSameRun) {
  for (const Defect defect : {Defect::kNone, Defect::kNoClaim}) {
    const Broken first = Play(MakeSchedule(7, kEpisode), defect);
    const Broken second = Play(MakeSchedule(7, kEpisode), defect);
    EXPECT_EQ(first.step, second.step);
    EXPECT_EQ(first.law, second.law);
  }
}

}  // namespace
}  // namespace winnow::polling::sim
