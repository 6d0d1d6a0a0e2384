#include "services/polling/view/view_worker.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "services/platform/base/uuid.h"
#include "services/platform/process/log.h"

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
constexpr const char* kRemedy =
    "Stop the program that writes them, import its jobs with `winnow jobs import-redis`, then "
    "start one server with `winnow serve --adopt-redis-keys`, which replaces what they hold; or "
    "set redis.url to another Redis or database.";
constexpr const char* kMoveMarker =
    "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
    "redis.call('SET', KEYS[1], ARGV[2]) return 1";

Deadline Soon() { return steady_clock::now() + kStepTime; }

// Own arguments: a number of pairs, as many pairs of score and member, then members to remove.
const redis::Script& ApplyScript() {
  static const redis::Script kScript = redis::OwnershipScript(R"(
if not owned() then return refuse() end
make_room()
local removed_from = EXTRA + 1 + 2 * tonumber(ARGV[EXTRA])
for i = EXTRA + 1, removed_from - 1, 2 do redis.call('ZADD', K, ARGV[i], ARGV[i + 1]) end
for i = removed_from, #ARGV do redis.call('ZREM', K, ARGV[i]) end
own()
return 1
)");
  return kScript;
}

const redis::Script& MoveMarkerScript() {
  static const redis::Script kScript{kMoveMarker};
  return kScript;
}

redis::ScriptCall CallWith(const redis::PublishedKey& key, std::vector<std::string> arguments) {
  return redis::CallOn(key, {}, std::move(arguments));
}

// Arguments of the script that add the jobs, by state.
std::map<std::string, std::vector<std::string>> AddsByState(
    const std::map<std::string, ShownJob>& jobs) {
  std::map<std::string, std::vector<std::string>> adds;
  for (const auto& [id, job] : jobs) {
    std::vector<std::string>& add = adds[job.state];
    if (add.empty()) add.emplace_back();  // the number of pairs
    add.push_back(std::to_string(job.entered_ms));
    add.push_back(id);
  }
  for (auto& [state, add] : adds) add.front() = std::to_string((add.size() - 1) / 2);
  return adds;
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

ViewWorker::ViewWorker(JobStore& store, redis::Client& redis, Metrics& metrics, Options options)
    : store_(store),
      redis_(redis),
      options_(options),
      drift_(metrics.GetGauge("winnow_polling_view_drift",
                              "Jobs that Redis showed otherwise than the store at the last "
                              "comparison; they were repaired.")),
      rebuilds_(metrics.GetCounter("winnow_polling_view_rebuilds_total",
                                   "Times that the view was written anew.")),
      repaired_(metrics.GetCounter("winnow_polling_view_repaired_total",
                                   "Jobs that a comparison corrected.")),
      foreign_("polling", "kinds", kRemedy, metrics) {}

void ViewWorker::Start() {
  thread_.Start([this] {
    const Status done = LookAndRepair();
    if (!done.ok() && !failed_before_) {
      log::Warn("polling: the published view is behind", {{"error", done.ToString()}});
    }
    failed_before_ = !done.ok();
    return options_.every;
  });
}

Status ViewWorker::LookAndRepair() {
  WINNOW_RETURN_IF_ERROR(Look());
  if (steady_clock::now() < next_repair_) return OkStatus();
  Status repaired = Repair().status();
  next_repair_ = steady_clock::now() + options_.repair_every;
  return repaired;
}

Status ViewWorker::Look() {
  WINNOW_ASSIGN_OR_RETURN(const redis::Reply reply, redis_.Run(Soon(), {"GET", kMarker}));
  WINNOW_ASSIGN_OR_RETURN(const auto marker, reply.MaybeText());
  WINNOW_ASSIGN_OR_RETURN(const HistoryHead head, store_.ReadHead(Soon()));
  const auto position = marker ? PositionOf(*marker, head) : std::nullopt;
  WINNOW_RETURN_IF_ERROR(ClaimLegacyKeys(position || (marker && marker->starts_with(kBuilding))));
  if (options_.adopt && !adopted_) WINNOW_RETURN_IF_ERROR(AdoptKeys());
  WINNOW_ASSIGN_OR_RETURN(const Views views, WritableViews());
  WINNOW_RETURN_IF_ERROR(position ? Follow(*position, head, views)
                                  : Rebuild(marker.value_or(""), head, views));
  return RestoreLost(views);
}

StatusOr<bool> ViewWorker::MoveMarker(const std::string& from, const std::string& to) {
  const std::string keys[] = {kMarker};
  const std::string arguments[] = {from, to};
  WINNOW_ASSIGN_OR_RETURN(const redis::Reply reply,
                          redis_.Eval(Soon(), MoveMarkerScript(), keys, arguments));
  WINNOW_ASSIGN_OR_RETURN(const int64_t moved, reply.Integer());
  return moved == 1;
}

Status ViewWorker::Follow(int64_t position, const HistoryHead& head, const Views& views) {
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
    if (!moved) return OkStatus();  // the next look logs why
  }
  return OkStatus();
}

// Writes what the store says of the jobs, and looks whether it still does: a change that another
// process wrote meanwhile may have been overwritten here.
Status ViewWorker::Project(const ViewOfKind& view, Ids ids) {
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

Status ViewWorker::Write(const ViewOfKind& view, std::span<const std::string> ids,
                         const std::map<std::string, ShownJob>& shown) {
  std::vector<redis::ScriptCall> calls;
  // First where it is, then where it is not: a reader never misses it.
  for (const auto& [state, add] : AddsByState(shown)) {
    calls.push_back(CallWith(ViewKey(view, state), add));
  }
  for (const std::string& state : view.states) {
    std::vector<std::string> remove = {"0"};
    for (const std::string& id : ids) {
      const auto job = shown.find(id);
      if (job == shown.end() || job->second.state != state) remove.push_back(id);
    }
    if (remove.size() > 1) calls.push_back(CallWith(ViewKey(view, state), std::move(remove)));
  }
  return Apply(view, calls);
}

Status ViewWorker::Apply(const ViewOfKind& view, std::span<const redis::ScriptCall> calls) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<int64_t> results,
                          redis::EvalAll(redis_, Soon(), ApplyScript(), calls));
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i] != redis::kForeign) continue;
    foreign_.Report(view.kind, {calls[i].keys.front()});
    stopped_.insert(view.kind);
  }
  return OkStatus();
}

Status ViewWorker::Rebuild(const std::string& marker, const HistoryHead& head, const Views& views) {
  // One that another process began is helped along: the first who is through says so.
  std::string building = marker;
  if (!marker.starts_with(kBuilding)) {
    building = std::string(kBuilding) + NewUuidV7(SystemClock().Now());
    WINNOW_ASSIGN_OR_RETURN(const redis::Reply set, redis_.Run(Soon(), {"SET", kMarker, building}));
    WINNOW_RETURN_IF_ERROR(set.ToStatus());
  }
  for (const ViewOfKind& view : views) WINNOW_RETURN_IF_ERROR(RewriteKind(view));
  rebuilds_.Increment();
  // What changed meanwhile comes by its history, from here on.
  return MoveMarker(building, MarkerOf(head.position, head.epoch)).status();
}

Status ViewWorker::RewriteKind(const ViewOfKind& view) {
  WINNOW_RETURN_IF_ERROR(RebuildKind(view));
  WINNOW_ASSIGN_OR_RETURN(Ids extra, FindExtra(view));
  return Project(view, std::move(extra));
}

Status ViewWorker::RebuildKind(const ViewOfKind& view) {
  std::string after;
  for (bool is_last = false; !is_last;) {
    WINNOW_ASSIGN_OR_RETURN(const auto page, store_.ReadShownPage(Soon(), view.kind, after, kPage));
    is_last = page.size() < static_cast<size_t>(kPage);
    std::vector<redis::ScriptCall> calls;
    for (const auto& [state, add] : AddsByState(page)) {
      calls.push_back(CallWith(ViewKey(view, state), add));
    }
    if (!page.empty()) after = page.rbegin()->first;
    WINNOW_RETURN_IF_ERROR(Apply(view, calls));
  }
  return OkStatus();
}

StatusOr<ViewWorker::Ids> ViewWorker::FindMissing(const ViewOfKind& view) {
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

StatusOr<ViewWorker::Ids> ViewWorker::FindExtra(const ViewOfKind& view) {
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

StatusOr<ViewWorker::Ids> ViewWorker::Differing(const ViewOfKind& view,
                                                std::span<const std::string> ids) {
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

StatusOr<int64_t> ViewWorker::Repair() {
  WINNOW_ASSIGN_OR_RETURN(const Views views, WritableViews());
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
