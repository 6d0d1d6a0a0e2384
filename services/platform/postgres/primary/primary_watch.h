#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/primary/host_probe.h"
#include "services/platform/postgres/primary/primary_choice.h"
#include "services/platform/process/metrics.h"

namespace winnow::pg {

// Knows which host of the URL is the primary (ADR 17). Asks every host twice a second, each on a
// thread of its own, so that a host that hangs delays no other. When the primary changes,
// connections made before are outdated: they run no further statement, and what they answer is not
// believed (Confirmed). Shared by all pools of a process.
class PrimaryWatch {
 public:
  // Counts the primaries; a connection remembers the number it was made under.
  using Generation = std::atomic<uint64_t>;

  static StatusOr<std::shared_ptr<PrimaryWatch>> Start(const std::string& url,
                                                       const std::string& password,
                                                       Metrics& metrics);
  ~PrimaryWatch();
  PrimaryWatch(const PrimaryWatch&) = delete;
  PrimaryWatch& operator=(const PrimaryWatch&) = delete;

  struct Primary {
    size_t host = 0;  // of the URL's, as ParseHosts gives them
    std::string system;
    int64_t timeline = 0;
    uint64_t generation = 0;
  };
  // The primary to connect to. Waits until every host has answered or failed once. Error: there is
  // none, or `stop` was requested.
  StatusOr<Primary> Current(const std::stop_token& stop);

  std::shared_ptr<const Generation> generation() const { return generation_; }

  // Whether an answer counts that came at `answered`, on a connection of `generation`, to work that
  // began at `began`: every reachable host was asked within kLease before, and none was promoted.
  // After a silence of kSilence or more, in which the server may have been frozen, all must have
  // been asked after the answer.
  bool Confirmed(uint64_t generation, Deadline began, Deadline answered) const {
    // The generation last: a switch raises it before it confirms anything.
    const Deadline confirmed(Deadline::duration(confirmed_at_.load(std::memory_order_acquire)));
    return confirmed >= NeededFor(began, answered) &&
           generation_->load(std::memory_order_acquire) == generation;
  }
  // The same, and waits until it is so. Error: UNAVAILABLE; what was answered may be lost.
  // `verify` is called where the URL has one host, which is up and does not let the watch in: it
  // asks that host on the connection that the answer came on, whether it is still the primary.
  Status AwaitConfirmed(uint64_t generation, Deadline began, Deadline answered, Deadline limit,
                        const std::function<bool()>& verify = nullptr);
  static constexpr std::chrono::milliseconds kLease{1000};
  static constexpr std::chrono::milliseconds kSilence{250};

  // Calls `changed`, which must not call back, at each change of the generation until the handle is
  // destroyed.
  [[nodiscard]] std::shared_ptr<void> OnChange(std::function<void()> changed);

  // A health probe: OK while there is a primary that answers; what is wrong otherwise.
  Status Check() const;

 private:
  struct Host {
    Host(std::string n, ConnectionSettings settings)
        : name(std::move(n)), probe(std::move(settings)) {}
    const std::string name;
    HostProbe probe;  // of the host's thread
    bool asked = false;
    bool refused = false;                 // it is up, and did not let the last question in
    Deadline asked_at = Deadline::min();  // when the last completed question was sent
    Deadline alive_at = Deadline::min();  // it was not frozen between then and its answer
    // When it last answered after a silence, in which it may have been frozen.
    Deadline woke_at = Deadline::min();
    std::optional<HostAnswer> answer;
    std::optional<HostState> state;  // nothing: not judged yet
  };

  PrimaryWatch(std::vector<HostSettings> hosts, Metrics& metrics);
  void AskLoop(Host& host, const std::stop_token& stop);
  void Note(Host& host, Deadline asked_at, std::optional<HostAnswer> answer);
  void Evaluate();
  void Apply(PrimaryChoice choice);
  void Switch(const KnownPrimary& next);
  void LogState(Host& host, HostState state);
  void ConfirmCurrent();
  bool AllAsked() const;
  bool OnlyHostRefuses() const;
  std::chrono::milliseconds Interval() const;
  void AddGauges();
  static Deadline NeededFor(Deadline began, Deadline answered) {
    return answered - began >= kSilence ? answered : answered - kLease;
  }

  Metrics& metrics_;
  Counter& switches_;
  Counter& unconfirmed_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<Host>> hosts_;

  const std::shared_ptr<Generation> generation_ = std::make_shared<Generation>(1);
  std::atomic<Deadline::rep> confirmed_at_;  // every reachable host was asked since, none better

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;  // something was asked, or is to be asked
  KnownPrimary known_;
  std::string problem_;
  Deadline wanted_ = Deadline::min();  // every host is to be asked after it
  std::list<std::function<void()>> subscribers_;
  std::vector<std::shared_ptr<void>> gauges_;
  std::vector<std::jthread> threads_;  // last: they use the above
};

}  // namespace winnow::pg
