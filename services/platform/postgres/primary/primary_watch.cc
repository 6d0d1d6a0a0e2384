#include "services/platform/postgres/primary/primary_watch.h"

#include <algorithm>

#include "services/platform/postgres/session/errors.h"
#include "services/platform/process/log.h"

namespace winnow::pg {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kInterval{500};
constexpr milliseconds kIntervalWithoutPrimary{100};
constexpr milliseconds kShortestInterval{20};  // however many wait for an answer
constexpr std::chrono::seconds kConfirmLimit{5};

Status Unconfirmed() {
  return Unavailable(Reason::kStoreUnavailable,
                     "PostgreSQL's primary changed or could not be confirmed while the call ran",
                     kRetryAfter);
}

}  // namespace

StatusOr<std::shared_ptr<PrimaryWatch>> PrimaryWatch::Start(const std::string& url,
                                                            const std::string& password,
                                                            Metrics& metrics) {
  WINNOW_ASSIGN_OR_RETURN(auto hosts, ParseHosts(url, password, "winnow-primary"));
  // The constructor is private, out of make_shared's reach.
  std::unique_ptr<PrimaryWatch> watch(new PrimaryWatch(std::move(hosts), metrics));
  watch->AddGauges();
  for (const auto& host : watch->hosts_) {
    watch->threads_.emplace_back([watch = watch.get(), host = host.get()](
                                     const std::stop_token& stop) { watch->AskLoop(*host, stop); });
  }
  return std::shared_ptr<PrimaryWatch>(std::move(watch));
}

PrimaryWatch::PrimaryWatch(std::vector<HostSettings> hosts, Metrics& metrics)
    : metrics_(metrics),
      switches_(metrics.GetCounter("winnow_postgres_primary_switches_total",
                                   "Changes of the PostgreSQL primary that this process uses.")),
      unconfirmed_(metrics.GetCounter(
          "winnow_postgres_unconfirmed_answers_total",
          "Answers of PostgreSQL that were not believed: its host might no longer be the "
          "primary.")),
      confirmed_at_(Deadline::min().time_since_epoch().count()) {
  for (HostSettings& host : hosts) {
    names_.push_back(host.name);
    hosts_.push_back(std::make_unique<Host>(host.name, std::move(host.settings)));
  }
}

PrimaryWatch::~PrimaryWatch() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();  // joins
}

void PrimaryWatch::AskLoop(Host& host, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const Deadline asked_at = steady_clock::now();
    std::optional<HostAnswer> answer = host.probe.Ask(stop);
    std::unique_lock lock(mutex_);
    Note(host, asked_at, std::move(answer));
    changed_.wait_until(lock, stop, asked_at + kShortestInterval, [] { return false; });
    changed_.wait_until(lock, stop, asked_at + Interval(), [&] { return wanted_ > asked_at; });
  }
}

milliseconds PrimaryWatch::Interval() const {
  const bool usable = known_.host && (hosts_[*known_.host]->answer || OnlyHostRefuses());
  return usable ? kInterval : kIntervalWithoutPrimary;
}

void PrimaryWatch::Note(Host& host, Deadline asked_at, std::optional<HostAnswer> answer) {
  const auto now = steady_clock::now();
  const bool prompt = host.answer && now - asked_at < kSilence;
  host.asked = true;
  host.refused = !answer && host.probe.refused();
  host.asked_at = asked_at;
  host.answer = std::move(answer);
  host.alive_at = prompt ? asked_at : now;
  if (!prompt && host.answer) host.woke_at = now;
  Evaluate();
  changed_.notify_all();
}

bool PrimaryWatch::AllAsked() const {
  return std::all_of(hosts_.begin(), hosts_.end(), [](const auto& host) { return host->asked; });
}

// Then no other host can be the primary, and this one is up: its connections can still ask it.
bool PrimaryWatch::OnlyHostRefuses() const {
  return hosts_.size() == 1 && known_.host && hosts_.front()->refused;
}

void PrimaryWatch::Evaluate() {
  if (!AllAsked()) return;  // a first primary is chosen among all hosts
  if (OnlyHostRefuses()) {
    problem_.clear();
    return;
  }
  std::vector<std::optional<HostAnswer>> answers;
  for (const auto& host : hosts_) answers.push_back(host->answer);
  Apply(ChoosePrimary(known_, names_, answers));
}

void PrimaryWatch::Apply(PrimaryChoice choice) {
  for (size_t i = 0; i < hosts_.size(); ++i) LogState(*hosts_[i], choice.states[i]);
  problem_ = std::move(choice.problem);
  const KnownPrimary& next = choice.known;
  const bool same_history = next.system == known_.system && next.timeline == known_.timeline;
  // A primary that does not answer just now stays the one to use while none follows it.
  const bool silent = known_.host && !hosts_[*known_.host]->answer;
  if (!next.host && silent && same_history) return;
  if (next.host != known_.host || !same_history) {
    Switch(next);
  } else {
    known_ = next;  // what was accepted may have grown
  }
  if (known_.host) ConfirmCurrent();
}

// Hosts that do not answer are left out: they are asked again and again, and callers that waited
// for them would wait without end.
void PrimaryWatch::ConfirmCurrent() {
  const Host& current = *hosts_[*known_.host];
  Deadline confirmed = current.alive_at;
  for (const auto& host : hosts_) {
    if (host.get() != &current && host->answer) confirmed = std::min(confirmed, host->asked_at);
  }
  // What others said while the primary was silent may be of before a promotion.
  if (confirmed < current.woke_at) {
    wanted_ = std::max(wanted_, current.woke_at);
    return;
  }
  // After the generation: a thread that sees the one sees the other (Confirmed).
  confirmed_at_.store(confirmed.time_since_epoch().count(), std::memory_order_release);
}

void PrimaryWatch::Switch(const KnownPrimary& next) {
  const bool first = known_.system.empty();
  known_ = next;
  generation_->fetch_add(1, std::memory_order_acq_rel);
  if (!first) switches_.Increment();
  const std::string host = next.host ? names_[*next.host] : "none";
  if (next.host) {
    log::Write(first ? log::Level::kInfo : log::Level::kWarn,
               first ? "PostgreSQL's primary is known"
                     : "PostgreSQL's primary changed: all connections are made anew",
               {{"host", host}, {"system", next.system}, {"timeline", next.timeline}});
  } else {
    log::Error("PostgreSQL has no usable primary: nothing is read or written",
               {{"why", problem_}, {"timeline", next.timeline}});
  }
  for (const auto& changed : subscribers_) changed();
}

void PrimaryWatch::LogState(Host& host, HostState state) {
  if (host.state == state) return;
  const bool good = state == HostState::kPrimary || state == HostState::kStandby;
  const std::string why = state == HostState::kUnreachable ? host.probe.error() : "";
  log::Write(good ? log::Level::kInfo : log::Level::kWarn, "a PostgreSQL host is in another state",
             {{"host", host.name},
              {"state", NameOf(state)},
              {"before", host.state ? NameOf(*host.state) : "unknown"},
              {"timeline", host.answer ? host.answer->timeline : 0},
              {"why", why}});
  host.state = state;
}

StatusOr<PrimaryWatch::Primary> PrimaryWatch::Current(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, stop, [this] { return AllAsked(); })) {
    return Unavailable(Reason::kShuttingDown, "the process is stopping", kRetryAfter);
  }
  if (!known_.host) return Unavailable(Reason::kStoreUnavailable, problem_, kRetryAfter);
  return Primary{*known_.host, known_.system, known_.timeline,
                 generation_->load(std::memory_order_acquire)};
}

Status PrimaryWatch::AwaitConfirmed(uint64_t generation, Deadline began, Deadline answered,
                                    Deadline limit, const std::function<bool()>& verify) {
  const Deadline needed = NeededFor(began, answered);
  std::unique_lock lock(mutex_);
  if (wanted_ < needed) {
    wanted_ = needed;
    changed_.notify_all();
  }
  const auto outdated = [&] { return generation_->load(std::memory_order_acquire) != generation; };
  const auto refused = [&] {
    return verify && OnlyHostRefuses() && hosts_.front()->asked_at >= needed;
  };
  changed_.wait_until(lock, std::min(limit, answered + kConfirmLimit), [&] {
    return outdated() || Confirmed(generation, began, answered) || refused();
  });
  if (Confirmed(generation, began, answered)) return OkStatus();
  if (!outdated() && refused()) {
    lock.unlock();
    if (verify() && !outdated()) return OkStatus();
  }
  unconfirmed_.Increment();
  log::Warn("an answer of PostgreSQL is not believed: its host may no longer be the primary",
            {{"outdated", outdated()}});
  return Unconfirmed();
}

std::shared_ptr<void> PrimaryWatch::OnChange(std::function<void()> changed) {
  const std::lock_guard lock(mutex_);
  const auto at = subscribers_.insert(subscribers_.end(), std::move(changed));
  return std::shared_ptr<void>(nullptr, [this, at](void*) {
    const std::lock_guard unsubscribe(mutex_);
    subscribers_.erase(at);
  });
}

Status PrimaryWatch::Check() const {
  const std::lock_guard lock(mutex_);
  if (problem_.empty()) return OkStatus();
  return Unavailable(Reason::kStoreUnavailable, problem_, kRetryAfter);
}

void PrimaryWatch::AddGauges() {
  const auto add = [this](const char* name, const char* help, const Labels& labels,
                          std::function<double()> read) {
    gauges_.push_back(metrics_.AddGauge(name, help, labels, [this, read = std::move(read)] {
      const std::lock_guard lock(mutex_);
      return read();
    }));
  };
  add("winnow_postgres_primary_timeline",
      "Timeline of the PostgreSQL primary in use; 0 while there is none.", {},
      [this] { return known_.host ? static_cast<double>(known_.timeline) : 0; });
  for (const auto& host : hosts_) {
    add("winnow_postgres_host_up", "Whether the PostgreSQL host answers.", {{"host", host->name}},
        [host = host.get()] { return host->answer ? 1.0 : 0.0; });
  }
  for (int number = 0; number < kHostStates; ++number) {
    const auto state = static_cast<HostState>(number);
    add("winnow_postgres_hosts", "PostgreSQL hosts of the URL by state.",
        {{"state", NameOf(state)}}, [this, state] {
          return static_cast<double>(
              std::count_if(hosts_.begin(), hosts_.end(),
                            [state](const auto& host) { return host->state == state; }));
        });
  }
}

}  // namespace winnow::pg
