#include "tests/sim/polling/sim.h"

#include <algorithm>
#include <array>
#include <random>

namespace winnow::polling::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int kWorkers = 4;
constexpr int kJobs = 10;
constexpr int kSweepBatch = 3;
constexpr int kAllSteps = 100;

Policy SttPolicy() {
  Policy policy;
  policy.states = {"processing", "summarizing"};
  policy.transitions = {{"processing", "summarizing"}};
  policy.max_attempts = 3;
  return policy;
}

// How often each act comes, in the order of Act.
constexpr std::array<int, 24> kWeights = {8,  16, 14, 6, 8, 5, 3, 7, 2, 4, 1, 8,
                                          22, 1,  2,  2, 3, 1, 2, 2, 1, 3, 2, 2};

struct Held {
  std::string id;
  int64_t token = 0;
};

struct Sent {
  std::string id;
  Command command;
  std::string request;
};

struct SimWorker {
  std::string name;
  bool stopped = false;
  std::vector<Held> held;
  std::optional<Sent> last;
};

class World {
 public:
  explicit World(Defect defect) : store_(SttPolicy(), defect), laws_(store_) {
    for (int i = 0; i < kWorkers; ++i) workers_[static_cast<size_t>(i)].name = NewName();
  }

  // The law that does not hold after the step; empty when all do.
  std::string Do(const Step& step) {
    SimWorker& worker = workers_[step.who % kWorkers];
    const std::string request = "r" + std::to_string(++requests_);
    switch (step.act) {
      case Act::kRegister:
        Register(step, request);
        break;
      case Act::kClaim:
        Claim(worker, step);
        break;
      case Act::kRetry:
        Retry(worker);
        break;
      case Act::kSweep:
        laws_.Swept(store_.Sweep(kSweepBatch));
        break;
      case Act::kAdvance:
        MoveClock(Advance(step));
        break;
      case Act::kStepClock:
        MoveClock(step.a % 2 == 0 ? seconds(step.b % 300) : -seconds(step.b % 300));
        break;
      case Act::kCrash:
        Crash(worker);
        break;
      case Act::kStop:
        worker.stopped = true;
        break;
      case Act::kContinue:
        worker.stopped = false;
        break;
      case Act::kPause:
        store_.PauseKind();
        break;
      case Act::kResume:
        store_.ResumeKind();
        laws_.Resumed();
        break;
      case Act::kCancel:
        OnAnyJob(step, command::Cancel{}, request);
        break;
      case Act::kRequeue:
        OnAnyJob(step, command::Requeue{}, request);
        break;
      case Act::kBury:
        OnAnyJob(step, command::Bury{}, request);
        break;
      case Act::kPurge:
        Purge(step);
        break;
      case Act::kView:
        step.a % 4 == 0 ? store_.FlushView() : store_.RepairView();
        break;
      case Act::kHang:
        Hang(step);
        break;
      default:
        Work(worker, step, request);
    }
    return laws_.Check();
  }
  const Met& met() const { return laws_.met(); }

 private:
  std::string NewName() { return "w" + std::to_string(++names_); }

  static Micros Advance(const Step& step) {
    switch (step.a % 8) {
      case 0:
        return minutes(step.b % 20);
      case 1:
        return seconds(step.b % 120);
      case 2:
        return seconds(20);
      default:
        return milliseconds(step.b % 9000);
    }
  }

  void Register(const Step& step, const std::string& request) {
    if (store_.records().size() >= kJobs) return;
    const Status done = store_.Register("j" + std::to_string(step.b % 1000), request);
    if (!done.ok()) laws_.Break("a job of the kind's first state can be registered");
  }

  void MoveClock(Micros by) {
    store_.MoveClock(by);
    laws_.Moved(by);
  }

  void Claim(SimWorker& worker, const Step& step) {
    if (worker.stopped) return;
    laws_.BeforeClaim();
    const std::vector<Claimed> claimed = store_.Claim(worker.name, 1 + step.a % 3);
    laws_.AfterClaim(worker.name, claimed);
    if (step.b % 32 == 0) return Crash(worker);  // before the answer arrives
    for (const Claimed& each : claimed) worker.held.push_back({each.id, each.token});
  }

  void Crash(SimWorker& worker) { worker = {NewName(), false, {}, {}}; }

  std::string AnyJob(const Step& step) const {
    if (store_.records().empty()) return "";
    auto at = store_.records().begin();
    std::advance(at, step.a % store_.records().size());
    return at->first;
  }

  void OnAnyJob(const Step& step, const Command& command, const std::string& request) {
    const std::string id = AnyJob(step);
    if (id.empty()) return;
    laws_.Answered(id, command, store_.Do(id, command, request, kAllSteps));
  }

  void Purge(const Step& step) {
    const std::string id = AnyJob(step);
    if (id.empty()) return;
    store_.Purge(id);  // a job in flight stays
    if (!store_.records().contains(id)) laws_.Purged(id);
  }

  static Command CommandOf(const Step& step, int64_t token) {
    const bool with_delay = step.b % 2 == 0;
    switch (step.act) {
      case Act::kHeartbeat:
        return command::Heartbeat{token};
      case Act::kProgress:
        return command::Progress{token, static_cast<int>(step.b % 101), ""};
      case Act::kReschedule:
        return command::Reschedule{token, seconds(step.b % 60)};
      case Act::kTransition:
        return command::Transition{token, "summarizing",
                                   with_delay ? std::optional<Micros>(seconds(3)) : std::nullopt};
      case Act::kComplete:
        return command::Complete{token, "done"};
      case Act::kFail:
        return command::Fail{token, step.b % 16 == 0, "503", Micros(0)};
      default:
        return command::Release{token};
    }
  }

  // A worker's command on a job that it believes to hold; it may die before, within or after.
  void Work(SimWorker& worker, const Step& step, const std::string& request) {
    if (worker.stopped || worker.held.empty()) return;
    const size_t at = step.a % worker.held.size();
    const Held held = worker.held[at];
    const Command command = CommandOf(step, held.token);
    const int steps = step.a % 16 < 4 ? static_cast<int>(step.a % 16) : kAllSteps;
    const auto outcome = store_.Do(held.id, command, request, steps);
    if (steps > 0) laws_.Answered(held.id, command, outcome);
    worker.last = Sent{held.id, command, request};
    if (steps != kAllSteps) return Crash(worker);
    const bool keeps = outcome.ok() && outcome->job.phase == Phase::kLeased;
    if (!keeps) worker.held.erase(worker.held.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void Hang(const Step& step) {
    for (int round = 0; round < step.a % 40; ++round) {
      MoveClock(seconds(20));
      for (SimWorker& worker : workers_) {
        if (!worker.stopped) BeatAll(worker);
      }
    }
  }

  void BeatAll(SimWorker& worker) {
    std::erase_if(worker.held, [this](const Held& held) {
      const command::Heartbeat beat{held.token};
      const auto outcome = store_.Do(held.id, beat, "", kAllSteps);
      laws_.Answered(held.id, beat, outcome);
      return !outcome.ok();
    });
  }

  void Retry(SimWorker& worker) {
    if (worker.stopped || !worker.last) return;
    const Sent& last = *worker.last;
    const auto found = store_.records().find(last.id);
    if (found == store_.records().end()) return;
    const Job before = found->second.job;
    const auto outcome = store_.Do(last.id, last.command, last.request, kAllSteps);
    if (before.last_request == RequestKey(last.command, last.request)) {
      if (!outcome.ok() || outcome->job != before) laws_.Break("a repeated request does nothing");
    } else {
      laws_.Answered(last.id, last.command, outcome);
    }
  }

  SimStore store_;
  Laws laws_;
  std::array<SimWorker, kWorkers> workers_;
  int names_ = 0;
  int requests_ = 0;
};

}  // namespace

std::vector<Step> MakeSchedule(uint64_t seed, int steps) {
  std::mt19937_64 random(seed);
  std::discrete_distribution<int> acts(kWeights.begin(), kWeights.end());
  std::vector<Step> schedule;
  schedule.reserve(static_cast<size_t>(steps));
  for (int i = 0; i < steps; ++i) {
    const uint64_t bits = random();
    schedule.push_back({static_cast<Act>(acts(random)), static_cast<uint8_t>(bits),
                        static_cast<uint16_t>(bits >> 8), static_cast<uint32_t>(bits >> 24)});
  }
  return schedule;
}

std::string Describe(const std::vector<Step>& schedule) {
  static constexpr std::array<const char*, 24> kNames = {
      "register", "claim", "heartbeat", "progress", "reschedule", "transition", "complete", "fail",
      "release",  "retry", "cancel",    "sweep",    "advance",    "step-clock", "crash",    "stop",
      "continue", "pause", "resume",    "requeue",  "bury",       "purge",      "view",     "hang"};
  std::string text;
  for (const Step& step : schedule) {
    text += std::string(kNames[static_cast<size_t>(step.act)]) + "(" +
            std::to_string(step.who % kWorkers) + "," + std::to_string(step.a) + "," +
            std::to_string(step.b) + ") ";
  }
  return text;
}

Broken Play(const std::vector<Step>& schedule, Defect defect) {
  World world(defect);
  for (size_t i = 0; i < schedule.size(); ++i) {
    std::string law = world.Do(schedule[i]);
    if (!law.empty()) return {static_cast<int>(i), std::move(law), world.met()};
  }
  return {-1, "", world.met()};
}

std::vector<Step> Shrink(std::vector<Step> schedule, Defect defect) {
  const Broken first = Play(schedule, defect);
  if (first.step < 0) return schedule;
  schedule.resize(static_cast<size_t>(first.step) + 1);
  for (size_t chunk = schedule.size() / 2; chunk > 0; chunk /= 2) {
    for (size_t at = 0; at + chunk <= schedule.size();) {
      std::vector<Step> less = schedule;
      less.erase(less.begin() + static_cast<std::ptrdiff_t>(at),
                 less.begin() + static_cast<std::ptrdiff_t>(at + chunk));
      const Broken broken = Play(less, defect);
      if (broken.law == first.law) {
        less.resize(static_cast<size_t>(broken.step) + 1);
        schedule = std::move(less);
      } else {
        at += chunk;
      }
    }
  }
  return schedule;
}

}  // namespace winnow::polling::sim
