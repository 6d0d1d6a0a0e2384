#include "services/platform/postgres/log/tailer.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "services/platform/postgres/pool/pool_state.h"
#include "services/platform/process/log.h"

namespace winnow::pg {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPoll(100);
constexpr milliseconds kPollWhileListening(1000);  // NOTIFY wakes it long before
constexpr milliseconds kFirstBackoff(50);
constexpr milliseconds kLongestBackoff(5000);
constexpr std::chrono::seconds kReadLimit(30);

}  // namespace

struct Tailer::State {
  State(Pool& p, TailerOptions o, Apply a, Reload r)
      : pool(p),
        options(std::move(o)),
        apply(std::move(a)),
        reload(std::move(r)),
        applied(options.from),
        epoch(options.epoch),
        position(options.from) {}

  void Loop(const std::stop_token& stop);
  Status CatchUp();
  Status StartOver();
  bool WaitForWork(const std::stop_token& stop, milliseconds limit);
  void Wake();

  template <class Body>
  auto Read(Body&& body) {
    return pool.Statements(steady_clock::now() + kReadLimit, body);
  }

  Pool& pool;
  const TailerOptions options;
  const Apply apply;
  const Reload reload;
  Listener* listener = nullptr;

  // Of the tailer's thread. `applied` runs ahead of `position` within a large backlog.
  int64_t applied;
  std::string epoch;

  std::atomic<int64_t> position;
  std::atomic<bool> healthy = false;
  std::mutex mutex;
  std::condition_variable_any changed;
  bool woken = false;
  std::shared_ptr<void> subscription;
  std::jthread thread;
};

void Tailer::State::Loop(const std::stop_token& stop) {
  milliseconds backoff = kFirstBackoff;
  while (true) {
    const Status status = CatchUp();
    if (!status.ok() && healthy) {
      log::Warn("a tailer cannot read its stream; retrying",
                {{"stream", WakePayload(options.stream)}, {"why", Message(status)}});
    }
    healthy = status.ok();
    milliseconds pause = listener != nullptr && listener->listening() ? kPollWhileListening : kPoll;
    if (status.ok()) {
      backoff = kFirstBackoff;
    } else {
      pause = backoff;
      backoff = std::min(backoff * 2, kLongestBackoff);
    }
    if (!WaitForWork(stop, pause)) return;
  }
}

Status Tailer::State::CatchUp() {
  WINNOW_ASSIGN_OR_RETURN(
      const Head head, Read([&](Session& session) { return ReadHead(session, options.stream); }));
  if (epoch.empty()) epoch = head.epoch;
  if (head.epoch != epoch || applied > head.head) return StartOver();
  while (applied < head.head) {
    WINNOW_ASSIGN_OR_RETURN(const int64_t reached, Read([&](Session& session) {
                              return apply(session, applied, head.head, options.batch);
                            }));
    if (reached <= applied || reached > head.head) {
      return Internal("reading stream " + WakePayload(options.stream) + " after " +
                      std::to_string(applied) + " reached " + std::to_string(reached));
    }
    applied = reached;
  }
  position = applied;
  return OkStatus();
}

Status Tailer::State::StartOver() {
  log::Warn("the database is of another history: reloading",
            {{"stream", WakePayload(options.stream)}, {"position", applied}});
  WINNOW_ASSIGN_OR_RETURN(const Head reached, Read(reload));
  applied = reached.head;
  epoch = reached.epoch;
  position = applied;
  Wake();
  return OkStatus();
}

bool Tailer::State::WaitForWork(const std::stop_token& stop, milliseconds limit) {
  std::unique_lock lock(mutex);
  // After an error a wake-up does not shorten the backoff: the next look would fail as well.
  changed.wait_for(lock, stop, limit, [this] { return woken && healthy; });
  woken = false;
  return !stop.stop_requested();
}

void Tailer::State::Wake() {
  {
    std::lock_guard lock(mutex);
    woken = true;
  }
  changed.notify_one();
}

Tailer::Tailer(Pool& pool, TailerOptions options, Apply apply, Reload reload)
    : state_(
          std::make_unique<State>(pool, std::move(options), std::move(apply), std::move(reload))) {}

Tailer::~Tailer() { Stop(); }

void Tailer::Start() {
  State& state = *state_;
  state.listener = state.pool.state().listener();
  if (state.listener != nullptr) {
    state.subscription =
        state.listener->Subscribe(WakePayload(state.options.stream), [&state] { state.Wake(); });
  }
  state.thread = std::jthread([&state](const std::stop_token& stop) { state.Loop(stop); });
}

void Tailer::Stop() {
  State& state = *state_;
  state.subscription.reset();
  state.thread.request_stop();
  if (state.thread.joinable()) state.thread.join();
}

void Tailer::Wake() { state_->Wake(); }
int64_t Tailer::position() const { return state_->position; }
bool Tailer::healthy() const { return state_->healthy; }

}  // namespace winnow::pg
