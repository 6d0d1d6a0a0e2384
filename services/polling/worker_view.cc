#include "services/polling/worker_view.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "services/platform/log.h"
#include "services/platform/uuid.h"

namespace winnow::polling {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kStepTime(20);
constexpr int kPage = 2000;
constexpr int kTries = 5;
// Where history was read to: "POSITION EPOCH"; while all is written anew: "building ID".
constexpr const char* kMarker = "winnow:polling:view";
constexpr const char* kBuilding = "building ";
// From what was read to what was reached: not where Redis lost it meanwhile, nor over another
// process's word.
constexpr const char* kMoveMarker =
    "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
    "redis.call('SET', KEYS[1], ARGV[2]) return 1";

Deadline Soon() { return steady_clock::now() + kStepTime; }

Status CheckAll(const StatusOr<std::vector<redis::Reply>>& replies) {
  WINNOW_RETURN_IF_ERROR(replies.status());
  for (const redis::Reply& reply : *replies) WINNOW_RETURN_IF_ERROR(reply.ToStatus());
  return OkStatus();
}

const redis::Script& MoveMarkerScript() {
  static const redis::Script script{kMoveMarker};
  return script;
}

std::string MarkerOf(int64_t position, const std::string& epoch) {
  return std::to_string(position) + " " + epoch;
}

// Nothing for a marker that is of another history.
std::optional<int64_t> PositionOf(const std::string& marker, const HistoryHead& head) {
  int64_t position = 0;
  const auto [end, error] = std::from_chars(marker.data(), marker.data() + marker.size(), position);
  if (error != std::errc() || std::string(end) != " " + head.epoch) return std::nullopt;
  if (position < 0 || position > head.position) return std::nullopt;
  return position;
}

}  // namespace

View::View(Store& store, redis::Client& redis, Metrics& metrics, Options options)
    : store_(store),
      redis_(redis),
      options_(options),
      drift_(metrics.GetGauge("winnow_polling_view_drift",
                              "Jobs that Redis showed otherwise than the store at the last "
                              "comparison; they were mended.")),
      rebuilds_(metrics.GetCounter("winnow_polling_view_rebuilds_total",
                                   "Times that the view was written anew.")),
      repaired_(metrics.GetCounter("winnow_polling_view_repaired_total",
                                   "Jobs that a comparison mended.")) {}

void View::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void View::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void View::Wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

void View::Loop() {
  bool told = false;
  for (;;) {
    Status done = Look();
    if (done.ok() && steady_clock::now() >= next_repair_) {
      done = Repair().status();
      next_repair_ = steady_clock::now() + options_.repair_every;
    }
    if (!done.ok() && !told) {
      log::Warn("polling: the published view is behind", {{"error", done.ToString()}});
    }
    told = !done.ok();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, options_.every, [this] { return stopping_ || woken_; });
    woken_ = false;
    if (stopping_) return;
  }
}

Status View::Look() {
  WINNOW_ASSIGN_OR_RETURN(const redis::Reply reply, redis_.Run(Soon(), {"GET", kMarker}));
  WINNOW_ASSIGN_OR_RETURN(const auto marker, reply.MaybeText());
  WINNOW_ASSIGN_OR_RETURN(const HistoryHead head, store_.ReadHead(Soon()));
  const auto position = marker ? PositionOf(*marker, head) : std::nullopt;
  return position ? Follow(*position, head) : Rebuild(marker.value_or(""), head);
}

StatusOr<bool> View::MoveMarker(const std::string& from, const std::string& to) {
  const std::string keys[] = {kMarker};
  const std::string arguments[] = {from, to};
  WINNOW_ASSIGN_OR_RETURN(const redis::Reply reply,
                          redis_.Eval(Soon(), MoveMarkerScript(), keys, arguments));
  WINNOW_ASSIGN_OR_RETURN(const int64_t moved, reply.Integer());
  return moved == 1;
}

Status View::Follow(int64_t position, const HistoryHead& head) {
  if (position == head.position) return OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const std::vector<ViewOfKind> views, store_.ListViews(Soon()));
  while (position < head.position) {
    WINNOW_ASSIGN_OR_RETURN(const std::vector<PlacedEvent> events,
                            store_.ReadHistory(Soon(), position, head.position, kPage));
    const bool is_last = events.size() < static_cast<size_t>(kPage);
    for (const ViewOfKind& view : views) {
      std::set<std::string> ids;
      for (const PlacedEvent& each : events) {
        if (each.event.key.kind == view.kind) ids.insert(each.event.key.id);
      }
      WINNOW_RETURN_IF_ERROR(Project(view, Ids(ids.begin(), ids.end())));
    }
    const std::string from = MarkerOf(position, head.epoch);
    position = is_last ? head.position : events.back().position;
    WINNOW_ASSIGN_OR_RETURN(const bool moved, MoveMarker(from, MarkerOf(position, head.epoch)));
    if (!moved) return OkStatus();  // the next look tells why
  }
  return OkStatus();
}

// Writes what the store says of the jobs, and looks whether it still does: a change that another
// process wrote meanwhile may have been overwritten here.
Status View::Project(const ViewOfKind& view, Ids ids) {
  for (int i = 0; i < kTries && !ids.empty(); ++i) {
    WINNOW_ASSIGN_OR_RETURN(const auto shown, store_.ReadShown(Soon(), view.kind, ids));
    WINNOW_RETURN_IF_ERROR(Write(view, ids, shown));
    WINNOW_ASSIGN_OR_RETURN(const auto now, store_.ReadShown(Soon(), view.kind, ids));
    std::erase_if(ids, [&](const std::string& id) {
      const auto before = shown.find(id);
      const auto after = now.find(id);
      if ((before == shown.end()) != (after == now.end())) return false;
      return before == shown.end() || before->second == after->second;
    });
  }
  return OkStatus();  // what changes that fast comes again by its history
}

Status View::Write(const ViewOfKind& view, std::span<const std::string> ids,
                   const std::map<std::string, ShownJob>& shown) {
  std::vector<redis::Command> commands;
  // First where it is, then where it is not: a reader never misses it.
  for (const std::string& id : ids) {
    const auto job = shown.find(id);
    if (job == shown.end()) continue;
    commands.push_back(
        {"ZADD", view.prefix + job->second.state, std::to_string(job->second.entered_ms), id});
  }
  for (const std::string& state : view.states) {
    redis::Command remove = {"ZREM", view.prefix + state};
    for (const std::string& id : ids) {
      const auto job = shown.find(id);
      if (job == shown.end() || job->second.state != state) remove.push_back(id);
    }
    if (remove.size() > 2) commands.push_back(std::move(remove));
  }
  return commands.empty() ? OkStatus() : CheckAll(redis_.Pipeline(Soon(), commands));
}

Status View::Rebuild(const std::string& marker, const HistoryHead& head) {
  // One that another process began is helped along: the first who is through says so.
  std::string building = marker;
  if (!marker.starts_with(kBuilding)) {
    building = std::string(kBuilding) + NewUuidV7(SystemClock().Now());
    WINNOW_ASSIGN_OR_RETURN(const redis::Reply set, redis_.Run(Soon(), {"SET", kMarker, building}));
    WINNOW_RETURN_IF_ERROR(set.ToStatus());
  }
  WINNOW_ASSIGN_OR_RETURN(const std::vector<ViewOfKind> views, store_.ListViews(Soon()));
  for (const ViewOfKind& view : views) {
    WINNOW_RETURN_IF_ERROR(RebuildKind(view));
    WINNOW_ASSIGN_OR_RETURN(const Ids extra, FindExtra(view));
    WINNOW_RETURN_IF_ERROR(Project(view, extra));
  }
  rebuilds_.Increment();
  // What changed meanwhile comes by its history, from here on.
  return MoveMarker(building, MarkerOf(head.position, head.epoch)).status();
}

Status View::RebuildKind(const ViewOfKind& view) {
  std::string after;
  for (bool is_last = false; !is_last;) {
    WINNOW_ASSIGN_OR_RETURN(const auto page, store_.ReadShownPage(Soon(), view.kind, after, kPage));
    is_last = page.size() < static_cast<size_t>(kPage);
    std::map<std::string, redis::Command> adds;  // by state
    for (const auto& [id, job] : page) {
      redis::Command& add = adds[job.state];
      if (add.empty()) add = {"ZADD", view.prefix + job.state};
      add.push_back(std::to_string(job.entered_ms));
      add.push_back(id);
      after = id;
    }
    std::vector<redis::Command> commands;
    for (auto& [state, add] : adds) commands.push_back(std::move(add));
    if (!commands.empty()) WINNOW_RETURN_IF_ERROR(CheckAll(redis_.Pipeline(Soon(), commands)));
  }
  return OkStatus();
}

StatusOr<View::Ids> View::FindMissing(const ViewOfKind& view) {
  Ids missing;
  std::string after;
  for (bool is_last = false; !is_last;) {
    WINNOW_ASSIGN_OR_RETURN(const auto page, store_.ReadShownPage(Soon(), view.kind, after, kPage));
    is_last = page.size() < static_cast<size_t>(kPage);
    std::vector<redis::Command> commands;
    for (const auto& [id, job] : page) commands.push_back({"ZSCORE", view.prefix + job.state, id});
    if (commands.empty()) break;
    WINNOW_ASSIGN_OR_RETURN(const auto replies, redis_.Pipeline(Soon(), commands));
    size_t i = 0;
    for (const auto& [id, job] : page) {
      WINNOW_ASSIGN_OR_RETURN(const auto score, replies[i++].MaybeText());
      if (score != std::to_string(job.entered_ms)) missing.push_back(id);
      after = id;
    }
  }
  return missing;
}

StatusOr<View::Ids> View::FindExtra(const ViewOfKind& view) {
  Ids extra;
  for (const std::string& state : view.states) {
    std::string cursor = "0";
    do {
      WINNOW_ASSIGN_OR_RETURN(const redis::Reply reply,
                              redis_.Run(Soon(), {"ZSCAN", view.prefix + state, cursor, "COUNT",
                                                  std::to_string(kPage)}));
      WINNOW_RETURN_IF_ERROR(reply.ToStatus());
      if (reply.items() == nullptr || reply.items()->size() != 2) {
        return Internal("ZSCAN answered something else");
      }
      WINNOW_ASSIGN_OR_RETURN(cursor, (*reply.items())[0].Text());
      WINNOW_ASSIGN_OR_RETURN(const auto members, (*reply.items())[1].Pairs());
      Ids ids;
      for (const auto& [member, score] : members) ids.push_back(member);
      WINNOW_ASSIGN_OR_RETURN(const auto shown, store_.ReadShown(Soon(), view.kind, ids));
      for (const std::string& id : ids) {
        const auto job = shown.find(id);
        if (job == shown.end() || job->second.state != state) extra.push_back(id);
      }
    } while (cursor != "0");
  }
  return extra;
}

StatusOr<View::Ids> View::Differing(const ViewOfKind& view, std::span<const std::string> ids) {
  WINNOW_ASSIGN_OR_RETURN(const auto shown, store_.ReadShown(Soon(), view.kind, ids));
  std::vector<redis::Command> commands;
  for (const std::string& id : ids) {
    for (const std::string& state : view.states) {
      commands.push_back({"ZSCORE", view.prefix + state, id});
    }
  }
  Ids differing;
  if (commands.empty()) return differing;
  WINNOW_ASSIGN_OR_RETURN(const auto replies, redis_.Pipeline(Soon(), commands));
  size_t i = 0;
  for (const std::string& id : ids) {
    const auto job = shown.find(id);
    bool is_same = true;
    for (const std::string& state : view.states) {
      WINNOW_ASSIGN_OR_RETURN(const auto score, replies[i++].MaybeText());
      const bool is_here = job != shown.end() && job->second.state == state;
      const auto wanted = is_here ? std::optional(std::to_string(job->second.entered_ms))
                                  : std::optional<std::string>();
      is_same = is_same && score == wanted;
    }
    if (!is_same) differing.push_back(id);
  }
  return differing;
}

Status View::DropRetired() {
  WINNOW_ASSIGN_OR_RETURN(const Ids keys, store_.ListRetiredKeys(Soon()));
  std::vector<redis::Command> commands;
  for (const std::string& key : keys) commands.push_back({"UNLINK", key});
  return commands.empty() ? OkStatus() : CheckAll(redis_.Pipeline(Soon(), commands));
}

StatusOr<int64_t> View::Repair() {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<ViewOfKind> views, store_.ListViews(Soon()));
  int64_t drift = 0;
  for (const ViewOfKind& view : views) {
    WINNOW_ASSIGN_OR_RETURN(Ids suspects, FindMissing(view));
    WINNOW_ASSIGN_OR_RETURN(const Ids extra, FindExtra(view));
    suspects.insert(suspects.end(), extra.begin(), extra.end());
    std::sort(suspects.begin(), suspects.end());
    suspects.erase(std::unique(suspects.begin(), suspects.end()), suspects.end());
    for (size_t i = 0; i < suspects.size(); i += static_cast<size_t>(kPage)) {
      const size_t count = std::min(suspects.size() - i, static_cast<size_t>(kPage));
      // What was only on its way is right by now.
      WINNOW_ASSIGN_OR_RETURN(Ids wrong, Differing(view, std::span(suspects).subspan(i, count)));
      drift += std::ssize(wrong);
      WINNOW_RETURN_IF_ERROR(Project(view, std::move(wrong)));
    }
  }
  WINNOW_RETURN_IF_ERROR(DropRetired());
  drift_.Set(static_cast<double>(drift));
  repaired_.Increment(static_cast<double>(drift));
  return drift;
}

}  // namespace winnow::polling
