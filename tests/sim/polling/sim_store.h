#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "services/polling/jobs/machine.h"

// The registry in memory, on a clock that the simulator moves: every verb is one store command, as
// in PostgreSQL. The defects of the published system can be put back, one at a time.
namespace winnow::polling::sim {

enum class Defect {
  kNone = 0,
  kAgeIsStaleness = 1,         // a live job is swept because it is old
  kSilentDrop = 2,             // swept ids are only counted
  kTransitionInFourSteps = 3,  // a crash between them leaves a job in no state, or in two
  kNoClaim = 4,                // every replica polls every id
  kStatusExpires = 5,          // the status lives 30 min, the id 60
  kTransientNeverCounts = 6,   // full polling rate through an outage
  kStateFromTheView = 7,       // ids from the database, state from Redis
  kTailStarves = 8,            // a full queue serves the newest
  kLossyExpiry = 9,            // liveness by messages that get lost
};
inline constexpr int kDefects = 9;

struct Record {
  Job job;
  std::set<std::string> listed;  // states whose index has it; exactly its own while in flight
  bool has_status = true;
  std::vector<JobEvent> history;
};

struct Claimed {
  std::string id;
  std::string state;
  int64_t token = 0;
  Time until;
};

class SimStore {
 public:
  SimStore(Policy policy, Defect defect);

  Status Register(const std::string& id, const std::string& request);
  // `steps`: store commands until the caller dies; a verb that is one command does all or nothing.
  StatusOr<Outcome> Do(const std::string& id, const Command& command, const std::string& request,
                       int steps);
  std::vector<Claimed> Claim(const std::string& owner, int limit);
  // Everything stale, a few at a time. Answers the ids that were swept.
  std::vector<std::string> Sweep(int batch);
  void PauseKind() { clock_ = Pause(clock_, now_); }
  void ResumeKind() { clock_ = Resume(clock_, now_); }
  void Purge(const std::string& id);
  void MoveClock(Micros by);
  void FlushView() { view_.clear(); }
  void RepairView();

  Time now() const { return now_; }
  const KindClock& clock() const { return clock_; }
  const Policy& policy() const { return policy_; }
  const std::map<std::string, Record>& records() const { return records_; }

 private:
  Rules rules() const { return {policy_, clock_}; }
  bool MayClaim(const Job& job) const;
  std::vector<std::string> Due() const;
  void Keep(Record& record, Outcome outcome);
  void List(Record& record);
  Job AsTheSweepSeesIt(const Job& job) const;

  const Policy policy_;
  const Defect defect_;
  Time now_;
  KindClock clock_;
  int64_t last_token_ = 0;
  std::map<std::string, Record> records_;
  std::map<std::string, std::string> view_;  // id to state, as far as Redis knows
};

}  // namespace winnow::polling::sim
