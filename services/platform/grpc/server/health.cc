#include "services/platform/grpc/server/health.h"

#include <exception>
#include <utility>

#include "services/platform/base/format/json_reader.h"
#include "services/platform/grpc/errors/visible_error.h"
#include "services/platform/process/log.h"

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

// A defect's text may be a driver's or an exception's: it goes to the log only.
std::string ShownError(const Status& status) {
  if (status.ok()) return "";
  return IsDefect(status) ? "internal error: the log has its text" : Message(status);
}

}  // namespace

Health::Health(grpc::HealthCheckServiceInterface& service, std::span<const Target> targets,
               std::chrono::milliseconds interval, Metrics& metrics)
    : service_(service) {
  for (const Target& target : targets) {
    Watched watched{
        .service_name = target.service_name, .is_starting = target.is_starting, .probes = {}};
    for (const Probe& probe : target.probes) {
      Gauge& up =
          metrics.GetGauge("winnow_dependency_up", "1 when the dependency answered its last probe.",
                           {{"target", target.name}, {"probe", probe.name}});
      watched.probes.push_back({.probe = probe, .up = &up, .last = OkStatus()});
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
  WriteJson();
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
  // What a service cannot do before it has started is expected.
  const bool is_logged = !starting_ && !watched.is_starting();
  for (WatchedProbe& each : watched.probes) {
    each.last = Check(each.probe);
    each.up->Set(each.last.ok() ? 1 : 0);
    if (each.probe.vital) serving = serving && each.last.ok();
    if (is_logged) LogChange(watched, each);
  }
  if (watched.logged_failure && serving) {
    log::Info("serving again", {{"service", watched.service_name}});
  }
  watched.logged_failure = is_logged && !serving;
  if (watched.known && watched.serving == serving) return;
  watched.known = true;
  watched.serving = serving;
  service_.SetServingStatus(watched.service_name, serving);
}

// A vital probe is logged once for each time that its service stops serving, by the probes that
// failed then; any other once when it fails and once when it succeeds again.
void Health::LogChange(const Watched& watched, WatchedProbe& each) const {
  const bool failed = !each.last.ok();
  const bool known = each.probe.vital ? watched.logged_failure : each.logged_failure;
  if (failed && !known) {
    log::Warn("dependency is unavailable", {{"service", watched.service_name},
                                            {"probe", each.probe.name},
                                            {"vital", each.probe.vital},
                                            {"error", Message(each.last)}});
  } else if (!failed && each.logged_failure && !each.probe.vital) {
    log::Info("dependency is available again",
              {{"service", watched.service_name}, {"probe", each.probe.name}});
  }
  each.logged_failure = failed;
}

void Health::WriteJson() {
  std::string json = "{\"services\":[";
  for (const Watched& watched : watched_) {
    if (&watched != watched_.data()) json += ',';
    json += "{\"service\":" + JsonQuoted(watched.service_name) +
            ",\"serving\":" + (watched.serving ? "true" : "false") + ",\"probes\":[";
    for (const WatchedProbe& each : watched.probes) {
      if (&each != watched.probes.data()) json += ',';
      json += "{\"name\":" + JsonQuoted(each.probe.name) +
              ",\"ok\":" + (each.last.ok() ? "true" : "false") +
              ",\"vital\":" + (each.probe.vital ? "true" : "false") +
              ",\"error\":" + JsonQuoted(ShownError(each.last)) + '}';
    }
    json += "]}";
  }
  json += "]}\n";
  const std::lock_guard lock(json_mutex_);
  json_ = std::move(json);
}

std::string Health::ToJson() const {
  const std::lock_guard lock(json_mutex_);
  return json_;
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
