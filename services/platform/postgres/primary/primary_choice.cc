#include "services/platform/postgres/primary/primary_choice.h"

#include <algorithm>

namespace winnow::pg {
namespace {

// One evaluation: narrows the hosts down step by step.
class Election {
 public:
  Election(const KnownPrimary& known, std::span<const std::string> names,
           std::span<const std::optional<HostAnswer>> answers)
      : before_(known), names_(names), answers_(answers) {
    choice_.known = known;
    choice_.known.host.reset();
    choice_.states.assign(answers.size(), HostState::kUnreachable);
  }

  PrimaryChoice Run() {
    RejectUnaccepted();
    if (ChooseSystem()) ChooseHost();
    if (!choice_.known.host && choice_.problem.empty()) choice_.problem = NoPrimary();
    return std::move(choice_);
  }

 private:
  bool Eligible(size_t host) const {
    return answers_[host] && choice_.states[host] != HostState::kOtherSystem;
  }

  void RejectUnaccepted() {
    for (size_t i = 0; i < answers_.size(); ++i) {
      if (!answers_[i]) continue;
      const HostAnswer& answer = *answers_[i];
      const bool is_new = !before_.system.empty() && answer.system != before_.system;
      const bool accepted =
          answer.accepted.empty() ? !is_new : answer.accepted.back() == answer.system;
      choice_.states[i] = accepted ? HostState::kStandby : HostState::kOtherSystem;
    }
  }

  // Whether the answer's database was accepted on its system after all that is in `accepted`.
  static bool Supersedes(const HostAnswer& answer, const std::vector<std::string>& accepted) {
    return answer.accepted.size() > accepted.size() &&
           std::equal(accepted.begin(), accepted.end(), answer.accepted.begin());
  }

  void Adopt(const HostAnswer& answer) {
    KnownPrimary& known = choice_.known;
    if (known.system != answer.system) known.timeline = 0;
    known.system = answer.system;
    known.accepted = answer.accepted;
  }

  // False: hosts of unrelated systems, and nothing says which is meant.
  bool ChooseSystem() {
    KnownPrimary& known = choice_.known;
    for (size_t i = 0; i < answers_.size(); ++i) {
      if (!Eligible(i)) continue;
      const HostAnswer& answer = *answers_[i];
      if (known.system.empty() || Supersedes(answer, known.accepted)) Adopt(answer);
    }
    for (size_t i = 0; i < answers_.size(); ++i) {
      if (!Eligible(i) || answers_[i]->system == known.system) continue;
      choice_.states[i] = HostState::kOtherSystem;
      const auto& mine = answers_[i]->accepted;
      const bool superseded = mine.size() < known.accepted.size() &&
                              std::equal(mine.begin(), mine.end(), known.accepted.begin());
      if (!before_.system.empty() || superseded) continue;
      choice_.problem =
          "the hosts of postgres.url are of unrelated database systems: leave only those of one";
      known = before_;
      return false;
    }
    return true;
  }

  void ChooseHost() {
    KnownPrimary& known = choice_.known;
    for (size_t i = 0; i < answers_.size(); ++i) {
      if (Eligible(i)) known.timeline = std::max(known.timeline, answers_[i]->timeline);
    }
    std::vector<size_t> candidates;
    for (size_t i = 0; i < answers_.size(); ++i) {
      if (!Eligible(i) || !answers_[i]->writable) continue;
      const bool current = answers_[i]->timeline == known.timeline;
      choice_.states[i] = current ? HostState::kPrimary : HostState::kOldTimeline;
      if (current) candidates.push_back(i);
    }
    if (candidates.empty()) return;
    const std::string& server = answers_[candidates.front()]->server_start;
    const bool one_server = std::all_of(candidates.begin(), candidates.end(), [&](size_t host) {
      return answers_[host]->server_start == server;
    });
    if (!one_server) {
      Conflict(candidates);
      return;
    }
    known.host = candidates.front();
    if (before_.host && std::count(candidates.begin(), candidates.end(), *before_.host) > 0) {
      known.host = before_.host;
    }
  }

  void Conflict(const std::vector<size_t>& hosts) {
    choice_.problem =
        "several hosts accept writes on timeline " + std::to_string(choice_.known.timeline) + ":";
    for (const size_t host : hosts) {
      choice_.states[host] = HostState::kConflict;
      choice_.problem += " " + names_[host];
    }
    choice_.problem += "; stop all but one";
  }

  std::string NoPrimary() const {
    std::string text = "no host of postgres.url is a usable primary:";
    for (size_t i = 0; i < answers_.size(); ++i) {
      text += (i == 0 ? " " : ", ") + names_[i] + " " + Reason(i);
    }
    return text;
  }

  std::string Reason(size_t host) const {
    switch (choice_.states[host]) {
      case HostState::kUnreachable:
        return "does not answer";
      case HostState::kOldTimeline:
        return "is on timeline " + std::to_string(answers_[host]->timeline) + ", and timeline " +
               std::to_string(choice_.known.timeline) +
               " exists: stop it, and make it a standby of the new primary";
      case HostState::kOtherSystem:
        return "is of database system " + answers_[host]->system +
               ", which was not accepted: run `winnow migrate --accept-system` if it was restored "
               "or moved there";
      default:
        return "is in recovery or read-only";
    }
  }

  const KnownPrimary& before_;
  const std::span<const std::string> names_;
  const std::span<const std::optional<HostAnswer>> answers_;
  PrimaryChoice choice_;
};

}  // namespace

const char* NameOf(HostState state) {
  switch (state) {
    case HostState::kUnreachable:
      return "unreachable";
    case HostState::kPrimary:
      return "primary";
    case HostState::kStandby:
      return "standby";
    case HostState::kOldTimeline:
      return "old_timeline";
    case HostState::kOtherSystem:
      return "other_system";
    case HostState::kConflict:
      return "conflict";
  }
  return "unreachable";
}

PrimaryChoice ChoosePrimary(const KnownPrimary& known, std::span<const std::string> names,
                            std::span<const std::optional<HostAnswer>> answers) {
  return Election(known, names, answers).Run();
}

}  // namespace winnow::pg
