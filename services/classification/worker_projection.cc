#include "services/classification/worker_projection.h"

#include "services/platform/json_reader.h"
#include "services/platform/log.h"
#include "services/platform/timestamp.h"
#include "services/platform/uuid.h"

namespace winnow::classification {
namespace {

constexpr int kVideos = 100;
constexpr int kChunk = 1000;
constexpr std::chrono::seconds kTime(20);
constexpr std::chrono::seconds kPoll(1);
constexpr const char* kStageMillis = "600000";  // what a dead projector staged ends by itself
constexpr const char* kMarker = "winnow:classification:projected";

Deadline Soon() { return std::chrono::steady_clock::now() + kTime; }

// KEYS: live verdicts, filtered, counts, then the staged three. ARGV: revision, time to live in
// ms. An older revision than the live one is dropped. A staged key that is absent was empty.
const redis::Script& Swap() {
  static const redis::Script kScript(
      "local live = tonumber(redis.call('HGET', KEYS[3], 'revision') or '-1') "
      "if live > tonumber(ARGV[1]) then redis.call('DEL', KEYS[4], KEYS[5], KEYS[6]) return 0 end "
      "for i = 1, 3 do "
      "if redis.call('EXISTS', KEYS[i + 3]) == 1 then redis.call('RENAME', KEYS[i + 3], KEYS[i]) "
      "redis.call('PEXPIRE', KEYS[i], ARGV[2]) else redis.call('DEL', KEYS[i]) end end "
      "return 1");
  return kScript;
}

std::string ToValue(const Resolved& resolved) {
  std::string value = std::string("{\"status\":\"") + NameOf(resolved.status) + "\"";
  if (!resolved.reason.empty()) value += ",\"reason\":" + JsonQuoted(resolved.reason);
  return value + "}";
}

redis::Command Expire(const std::string& key) { return {"PEXPIRE", key, kStageMillis}; }

Status CheckAll(const StatusOr<std::vector<redis::Reply>>& replies) {
  WINNOW_RETURN_IF_ERROR(replies.status());
  for (const redis::Reply& reply : *replies) WINNOW_RETURN_IF_ERROR(reply.ToStatus());
  return OkStatus();
}

}  // namespace

ProjectionKeys::ProjectionKeys(const VideoKey& video, const std::string& stage) {
  verdicts =
      (video.ns == "default" ? "" : video.ns + ":") + "video:" + video.video_id + ":classification";
  const std::string tagged = "{" + verdicts + "}:";
  filtered = tagged + "ix:filtered";
  counts = tagged + "counts";
  next = tagged + "next:" + stage;
  next_filtered = next + ":ix:filtered";
  next_counts = next + ":counts";
}

Projection::Projection(Store& store, redis::Client& redis, const Clock& clock, Metrics& metrics)
    : store_(store),
      redis_(redis),
      clock_(clock),
      projected_(metrics.GetCounter("winnow_classification_projections_total",
                                    "Videos written to Redis.", {{"outcome", "written"}})),
      failed_(metrics.GetCounter("winnow_classification_projections_total",
                                 "Videos written to Redis.", {{"outcome", "failed"}})) {}

void Projection::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void Projection::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Projection::Wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

void Projection::Loop() {
  bool told = false;
  for (;;) {
    const Status done = ProjectAll();
    if (!done.ok() && !told) {
      log::Warn("classification: Redis is behind", {{"error", done.ToString()}});
    }
    told = !done.ok();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPoll, [this] { return stopping_ || woken_; });
    woken_ = false;
    if (stopping_) return;
  }
}

// Without the marker Redis lost what it had, or never had it.
Status Projection::CheckMarker() {
  WINNOW_ASSIGN_OR_RETURN(const redis::Reply marker, redis_.Run(Soon(), {"GET", kMarker}));
  WINNOW_RETURN_IF_ERROR(marker.ToStatus());
  if (!marker.IsNil()) return OkStatus();
  WINNOW_RETURN_IF_ERROR(store_.ForgetProjections(Soon()));
  WINNOW_ASSIGN_OR_RETURN(const redis::Reply set, redis_.Run(Soon(), {"SET", kMarker, "1"}));
  return set.ToStatus();
}

Status Projection::ProjectAll() {
  WINNOW_RETURN_IF_ERROR(CheckMarker());
  for (;;) {
    WINNOW_ASSIGN_OR_RETURN(const auto videos, store_.UnprojectedVideos(Soon(), kVideos));
    for (const Store::Unprojected& video : videos) {
      const Status projected = Project(video);
      (projected.ok() ? projected_ : failed_).Increment();
      // Deleted meanwhile: its row is gone, and its keys were taken away.
      if (projected.code() == StatusCode::kNotFound) continue;
      WINNOW_RETURN_IF_ERROR(projected);
    }
    if (videos.size() < static_cast<size_t>(kVideos)) return OkStatus();
  }
}

Status Projection::Stage(const Store::Unprojected& video, const ProjectionKeys& keys,
                         StatusCounts& counts, std::string& metadata) {
  std::string after;
  int64_t run = 0;
  for (bool done = false; !done;) {
    WINNOW_ASSIGN_OR_RETURN(const Store::Page page,
                            store_.Export(Soon(), video.key, run, after, kChunk));
    run = page.run;
    done = page.items.size() < static_cast<size_t>(kChunk);
    redis::Command hash = {"HSET", keys.next};
    redis::Command index = {"ZADD", keys.next_filtered};
    for (const Resolved& item : page.items) {
      after = item.comment_id;
      if (item.status == CommentStatus::kNone) continue;
      if (metadata.empty() && item.source != Source::kOverride) metadata = item.model;
      ++counts[static_cast<size_t>(item.status)];
      hash.push_back(item.comment_id);
      hash.push_back(ToValue(item));
      if (item.status != CommentStatus::kFiltered) continue;
      const auto millis = std::chrono::floor<std::chrono::milliseconds>(item.sort_time);
      index.push_back(std::to_string(millis.time_since_epoch().count()));
      index.push_back(item.comment_id);
    }
    std::vector<redis::Command> commands;
    if (hash.size() > 2) commands.insert(commands.end(), {hash, Expire(keys.next)});
    if (index.size() > 2) commands.insert(commands.end(), {index, Expire(keys.next_filtered)});
    if (!commands.empty()) WINNOW_RETURN_IF_ERROR(CheckAll(redis_.Pipeline(Soon(), commands)));
  }
  return OkStatus();
}

Status Projection::Project(const Store::Unprojected& video) {
  const ProjectionKeys keys(video.key, NewUuidV7(clock_.Now()));
  StatusCounts counts{};
  std::string model;
  WINNOW_RETURN_IF_ERROR(Stage(video, keys, counts, model));
  const std::string now = FormatTime(clock_.Now());
  std::vector<redis::Command> commands;
  if (counts[1] + counts[2] + counts[3] > 0) {
    commands.push_back({"HSET", keys.next, "_metadata",
                        "{\"updated_at\":\"" + now + "\",\"model\":" + JsonQuoted(model) +
                            ",\"model_version\":" + JsonQuoted(model) + "}"});
  }
  commands.push_back({"HSET", keys.next_counts, "normal", std::to_string(counts[1]), "filtered",
                      std::to_string(counts[2]), "content_suggestion", std::to_string(counts[3]),
                      "revision", std::to_string(video.revision)});
  commands.push_back(Expire(keys.next_counts));
  WINNOW_RETURN_IF_ERROR(CheckAll(redis_.Pipeline(Soon(), commands)));
  const std::string names[] = {keys.verdicts, keys.filtered,      keys.counts,
                               keys.next,     keys.next_filtered, keys.next_counts};
  const auto left = std::max<int64_t>(
      1, std::chrono::duration_cast<std::chrono::milliseconds>(video.expire_time - clock_.Now())
             .count());
  const std::string arguments[] = {std::to_string(video.revision), std::to_string(left)};
  WINNOW_ASSIGN_OR_RETURN(const redis::Reply swapped,
                          redis_.Eval(Soon(), Swap(), names, arguments));
  WINNOW_RETURN_IF_ERROR(swapped.ToStatus());
  // What changed while it was staged raised the revision, and comes again.
  return store_.SetProjected(Soon(), video);
}

Status Projection::Remove(const VideoKey& video) {
  const ProjectionKeys keys(video, "");
  WINNOW_ASSIGN_OR_RETURN(const redis::Reply removed,
                          redis_.Run(Soon(), {"DEL", keys.verdicts, keys.filtered, keys.counts}));
  return removed.ToStatus();
}

StatusOr<std::string> Projection::Read(Deadline deadline, const std::string& key) {
  WINNOW_ASSIGN_OR_RETURN(const redis::Reply reply, redis_.Run(deadline, {"GET", key}));
  WINNOW_ASSIGN_OR_RETURN(auto text, reply.MaybeText());
  if (!text) return NotFound("redis_key", key);
  return *std::move(text);
}

}  // namespace winnow::classification
