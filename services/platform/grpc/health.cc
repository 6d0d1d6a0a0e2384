#include "services/platform/grpc/health.h"

#include <exception>

#include "services/platform/log.h"

namespace winnow::rpc {
namespace {

constexpr std::chrono::milliseconds kAskAgain{10};

Status Check(const Probe& probe) {
  try {
    return probe.check();
  } catch (const std::exception& e) {
    return Internal(e.what());
  }
}

}  // namespace

Health::Health(grpc::HealthCheckServiceInterface& service, std::span<const Target> targets,
               std::chrono::milliseconds interval, Metrics& metrics)
    : service_(service) {
  for (const Target& target : targets) {
    Watched watched{.service_name = target.service_name, .probes = target.probes, .up = {}};
    for (const Probe& probe : target.probes) {
      watched.up.push_back(&metrics.GetGauge("winnow_dependency_up",
                                             "1 when the dependency answered its last probe.",
                                             {{"target", target.name}, {"probe", probe.name}}));
    }
    watched_.push_back(std::move(watched));
  }
  AskAll();
  service_.SetServingStatus("", true);
  thread_ = std::thread([this, interval] { Loop(interval); });
}

bool Health::AskAll() {
  const std::lock_guard lock(asking_);
  bool all = true;
  for (Watched& watched : watched_) {
    Ask(watched);
    all = all && watched.serving;
  }
  return all;
}

bool Health::AwaitServing(Deadline deadline, const std::stop_token& stop) {
  while (!AskAll()) {
    if (stop.stop_requested()) return false;
    if (std::chrono::steady_clock::now() < deadline && Pause(kAskAgain)) continue;
    EndStart();
    return AskAll();
  }
  EndStart();
  return true;
}

void Health::EndStart() {
  const std::lock_guard lock(asking_);
  starting_ = false;
}

// False when ending.
bool Health::Pause(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, time, [this] { return ending_; });
}

void Health::Ask(Watched& watched) {
  bool serving = true;
  for (size_t i = 0; i < watched.probes.size(); ++i) {
    const Status status = Check(watched.probes[i]);
    watched.up[i]->Set(status.ok() ? 1 : 0);
    if (!watched.probes[i].vital) continue;
    if (!status.ok() && !starting_ && !watched.told) {
      log::Warn("dependency is away", {{"service", watched.service_name},
                                       {"probe", watched.probes[i].name},
                                       {"error", Message(status)}});
    }
    serving = serving && status.ok();
  }
  if (watched.told && serving) log::Info("serving again", {{"service", watched.service_name}});
  watched.told = !starting_ && !serving;
  if (watched.known && watched.serving == serving) return;
  watched.known = true;
  watched.serving = serving;
  service_.SetServingStatus(watched.service_name, serving);
}

void Health::Loop(std::chrono::milliseconds interval) {
  while (Pause(interval)) {
    EndStart();
    AskAll();
  }
}

void Health::EndServing() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  service_.Shutdown();  // first, so that callers hear of it while a probe still waits
  if (thread_.joinable()) thread_.join();
}

}  // namespace winnow::rpc
