#include "services/platform/process/log.h"
#include "services/polling/view/view_worker.h"

// Whose the view's keys are, and those that Redis lost.
namespace winnow::polling {
namespace {

constexpr std::chrono::seconds kStepTime(20);
constexpr int kPage = 2000;
// There since a build that records who owns each key looked at this Redis.
constexpr const char* kRecordsMarker = "winnow:polling:records";

Deadline Soon() { return std::chrono::steady_clock::now() + kStepTime; }

// For a key of a build that kept no records.
const redis::Script& ClaimScript() {
  static const redis::Script kScript = redis::OwnershipScript(
      "if not record() and redis.call('EXISTS', K) == 1 then own() end return 1");
  return kScript;
}

redis::PublishedKey ZsetWithoutTtl(std::string name) {
  return {std::move(name), "zset", {}, {}, {}};
}

std::vector<redis::PublishedKey> KeysOf(const ViewOfKind& view) {
  std::vector<redis::PublishedKey> keys;
  for (const std::string& state : view.states) keys.push_back(ViewKey(view, state));
  return keys;
}

}  // namespace

redis::PublishedKey ViewKey(const ViewOfKind& view, const std::string& state) {
  return ZsetWithoutTtl(view.prefix + state);
}

Status ViewWorker::AdoptKeys() {
  WINNOW_ASSIGN_OR_RETURN(const Views views, store_.ListViews(Soon()));
  std::vector<redis::PublishedKey> keys;
  for (const ViewOfKind& view : views) {
    for (redis::PublishedKey& key : KeysOf(view)) keys.push_back(std::move(key));
  }
  WINNOW_ASSIGN_OR_RETURN(const size_t count, redis::Adopt(redis_, Soon(), keys));
  adopted_ = true;
  // What they hold differs from the store.
  for (const ViewOfKind& view : views) stopped_.insert(view.kind);
  log::Info("keys of other programs in Redis were given to the projection, which will replace them",
            {{"projection", "polling"}, {"keys", count}, {"keys_checked", keys.size()}});
  return OkStatus();
}

StatusOr<ViewWorker::Views> ViewWorker::WritableViews() {
  WINNOW_ASSIGN_OR_RETURN(const Views views, store_.ListViews(Soon()));
  Views writable;
  std::set<std::string> kinds;
  for (const ViewOfKind& view : views) {
    kinds.insert(view.kind);
    WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> foreign,
                            redis::FindForeign(redis_, Soon(), KeysOf(view)));
    if (!foreign.empty()) {
      foreign_.Report(view.kind, foreign);
      stopped_.insert(view.kind);
      continue;
    }
    foreign_.Clear(view.kind);
    if (stopped_.contains(view.kind)) {  // its history went by meanwhile
      WINNOW_RETURN_IF_ERROR(RewriteKind(view));
      stopped_.erase(view.kind);
    }
    writable.push_back(view);
  }
  foreign_.KeepOnly(kinds);
  std::erase_if(stopped_, [&](const std::string& kind) { return !kinds.contains(kind); });
  return writable;
}

Status ViewWorker::ClaimLegacyKeys(bool is_ours) {
  WINNOW_ASSIGN_OR_RETURN(const redis::Reply records,
                          redis_.Run(Soon(), {"EXISTS", kRecordsMarker}));
  WINNOW_ASSIGN_OR_RETURN(const int64_t has_records, records.Integer());
  if (has_records == 1) return OkStatus();
  if (is_ours) {
    WINNOW_ASSIGN_OR_RETURN(const Views views, store_.ListViews(Soon()));
    std::vector<redis::ScriptCall> calls;
    for (const ViewOfKind& view : views) {
      for (const std::string& state : view.states) {
        WINNOW_ASSIGN_OR_RETURN(const bool is_known, HoldsKnownJobsOnly(view, state));
        if (is_known) calls.push_back(redis::CallOn(ViewKey(view, state)));
      }
    }
    WINNOW_RETURN_IF_ERROR(redis::EvalAll(redis_, Soon(), ClaimScript(), calls).status());
  }
  return redis_.Run(Soon(), {"SET", kRecordsMarker, "1"}).status();
}

// The marker may be older than what another program wrote since: its jobs are not in the store.
StatusOr<bool> ViewWorker::HoldsKnownJobsOnly(const ViewOfKind& view, const std::string& state) {
  const std::string key = view.prefix + state;
  WINNOW_ASSIGN_OR_RETURN(const redis::Reply type, redis_.Run(Soon(), {"TYPE", key}));
  if (type.text() == nullptr || *type.text() != "zset") return false;
  std::string cursor = "0";
  do {
    WINNOW_ASSIGN_OR_RETURN(
        const redis::Reply reply,
        redis_.Run(Soon(), {"ZSCAN", key, cursor, "COUNT", std::to_string(kPage)}));
    if (reply.items() == nullptr || reply.items()->size() != 2) {
      return Internal("ZSCAN answered something else");
    }
    WINNOW_ASSIGN_OR_RETURN(cursor, (*reply.items())[0].Text());
    WINNOW_ASSIGN_OR_RETURN(const auto members, (*reply.items())[1].Pairs());
    Ids ids;
    for (const auto& [member, score] : members) ids.push_back(member);
    WINNOW_ASSIGN_OR_RETURN(const int64_t known, store_.CountKnown(Soon(), view.kind, ids));
    if (known != std::ssize(ids)) return false;
  } while (cursor != "0");
  return true;
}

Status ViewWorker::RestoreLost(const Views& views) {
  std::vector<redis::Command> asks;
  std::vector<std::pair<const ViewOfKind*, const std::string*>> asked;
  for (const ViewOfKind& view : views) {
    for (const std::string& state : view.states) {
      asks.push_back({"EXISTS", view.prefix + state});
      asked.emplace_back(&view, &state);
    }
  }
  if (asks.empty()) return OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const std::vector<redis::Reply> replies, redis_.Pipeline(Soon(), asks));
  std::set<std::string> present;
  std::map<std::string, const ViewOfKind*> lost;
  for (size_t i = 0; i < asked.size(); ++i) {
    const auto& [view, state] = asked[i];
    const std::string key = view->prefix + *state;
    WINNOW_ASSIGN_OR_RETURN(const int64_t exists, replies[i].Integer());
    if (exists == 1) {
      present.insert(key);
    } else if (present_.contains(key)) {
      WINNOW_ASSIGN_OR_RETURN(const bool shows, store_.ShowsState(Soon(), view->kind, *state));
      if (shows) lost.emplace(view->kind, view);
    }
  }
  for (const auto& [kind, view] : lost) {
    WINNOW_RETURN_IF_ERROR(RewriteKind(*view));
    rebuilds_.Increment();
  }
  present_ = std::move(present);
  return OkStatus();
}

Status ViewWorker::DropRetired() {
  WINNOW_ASSIGN_OR_RETURN(const Ids keys, store_.ListRetiredKeys(Soon()));
  std::vector<redis::Command> asks;
  for (const std::string& key : keys) asks.push_back({"EXISTS", redis::OwnerKeyOf(key)});
  if (asks.empty()) return OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const std::vector<redis::Reply> replies, redis_.Pipeline(Soon(), asks));
  std::vector<redis::ScriptCall> calls;
  for (size_t i = 0; i < keys.size(); ++i) {
    WINNOW_ASSIGN_OR_RETURN(const int64_t is_recorded, replies[i].Integer());
    if (is_recorded == 1) calls.push_back(redis::CallOn(ZsetWithoutTtl(keys[i])));
  }
  return redis::EvalAll(redis_, Soon(), redis::RemoveScript(), calls).status();
}

}  // namespace winnow::polling
