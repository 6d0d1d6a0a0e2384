#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/polling/sim_store.h"

namespace winnow::polling::sim {

// What happened in a run: a simulator that never got there proves nothing.
struct Met {
  std::set<Change> changes;
  std::set<StaleReason> reasons;
};

// What must hold, judged from outside: from what workers were promised and did, not from the rules
// under test.
class Laws {
 public:
  explicit Laws(const SimStore& store) : store_(store) {}

  void Moved(Micros by);
  void Resumed();
  void BeforeClaim();
  void AfterClaim(const std::string& worker, const std::vector<Claimed>& claimed);
  // What became of a command.
  void Answered(const std::string& id, const Command& command, const StatusOr<Outcome>& outcome);
  void Swept(const std::vector<std::string>& ids);
  void Purged(const std::string& id) { known_.erase(id); }
  void Break(const std::string& law) { broken_ = law; }

  // The law that is broken now; empty when all hold.
  std::string Check();
  const Met& met() const { return met_; }

 private:
  struct Known {
    Phase phase = Phase::kWaiting;
    std::string state;
    size_t history = 0;
    int64_t token = 0;
    std::string holder;  // who was promised the job last, and until when
    Time until;
    Time kind_entered;
    Time kind_progressed;
    int failures = 0;
  };

  void CheckOne(const std::string& id, const Record& record);
  void CheckNewHistory(const Record& record, const Known& known);
  void Learn(const Record& record, Known& known);
  Time KindNow() const { return Time(kind_time_); }

  const SimStore& store_;
  std::map<std::string, Known> known_;
  std::map<std::string, Time> due_before_;
  Micros kind_time_{0};
  Micros paused_moves_{0};
  std::string broken_;
  Met met_;
};

}  // namespace winnow::polling::sim
