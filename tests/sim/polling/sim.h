#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/polling/sim_laws.h"

// A deterministic simulator: a virtual clock, workers that crash between any two store commands,
// zombies, lost answers, clock steps, pauses and operators, all from one seed; and what must hold
// after every step.
namespace winnow::polling::sim {

enum class Act : uint8_t {
  kRegister,
  kClaim,
  kHeartbeat,
  kProgress,
  kReschedule,
  kTransition,
  kComplete,
  kFail,
  kRelease,
  kRetry,  // sends the worker's last command again, as after a lost answer
  kCancel,
  kSweep,
  kAdvance,
  kStepClock,
  kCrash,
  kStop,
  kContinue,
  kPause,
  kResume,
  kRequeue,
  kBury,
  kPurge,
  kView,
  kHang,  // time passes in which workers do nothing but send heartbeats
};

// One step; whatever does not apply in the world that it meets does nothing, so that a schedule
// stays one when steps are taken out.
struct Step {
  Act act;
  uint8_t who = 0;
  uint16_t a = 0;
  uint32_t b = 0;
};

std::vector<Step> MakeSchedule(uint64_t seed, int steps);
std::string Describe(const std::vector<Step>& schedule);

struct Broken {
  int step = -1;  // index of the step after which a law did not hold; -1: all held
  std::string law;
  Met met;  // what the run went through
};
Broken Play(const std::vector<Step>& schedule, Defect defect);

// The shortest schedule found that breaks the same law: steps are taken out as long as it does.
std::vector<Step> Shrink(std::vector<Step> schedule, Defect defect);

}  // namespace winnow::polling::sim
