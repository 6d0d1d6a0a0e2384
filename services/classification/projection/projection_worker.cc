#include "services/classification/projection/projection_worker.h"

#include "services/platform/base/format/json_reader.h"
#include "services/platform/base/timestamp.h"
#include "services/platform/base/uuid.h"
#include "services/platform/process/log.h"

namespace winnow::classification {
namespace {

constexpr int kVideos = 100;
constexpr int kChunk = 1000;
constexpr std::chrono::seconds kTime(20);
constexpr const char* kStageMillis = "600000";  // what a dead projector staged ends by itself
constexpr const char* kMarker = "winnow:classification:projected";

Deadline Soon() { return std::chrono::steady_clock::now() + kTime; }

constexpr const char* kRemedy =
    "Give the keys to Winnow with `winnow serve --adopt-redis-keys`, which replaces what they "
    "hold, or set redis.url to another Redis or database.";

// Own keys: live filtered, counts, then staged verdicts, filtered, counts. Own argument: revision.
// An older revision than the live one is dropped. A staged key that is absent was empty.
const redis::Script& Swap() {
  static const redis::Script kScript = redis::OwnershipScript(R"(
local live = {K, KEYS[EXTRA_KEYS], KEYS[EXTRA_KEYS + 1]}
local staged = {KEYS[EXTRA_KEYS + 2], KEYS[EXTRA_KEYS + 3], KEYS[EXTRA_KEYS + 4]}
local may_write = owned()
if not may_write or
    tonumber(redis.call('HGET', live[3], 'revision') or '-1') > tonumber(ARGV[EXTRA]) then
  redis.call('DEL', unpack(staged))
  return may_write and 0 or refuse()
end
for i = 1, 3 do
  if redis.call('EXISTS', staged[i]) == 1 then
    redis.call('RENAME', staged[i], live[i])
    redis.call('PEXPIRE', live[i], ARGV[3])
  else
    redis.call('DEL', live[i])
  end
end
own()
return 1
)");
  return kScript;
}

// Own keys: filtered, counts.
const redis::Script& RemoveVideo() {
  static const redis::Script kScript = redis::OwnershipScript(
      "if not owned() then return refuse() end "
      "return redis.call('DEL', K, O, KEYS[EXTRA_KEYS], KEYS[EXTRA_KEYS + 1])");
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

Counter& Projections(Metrics& metrics, const char* outcome) {
  return metrics.GetCounter("winnow_classification_projections_total", "Videos written to Redis.",
                            {{"outcome", outcome}});
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

redis::PublishedKey PublishedVerdicts(const ProjectionKeys& keys, std::chrono::milliseconds ttl) {
  return {keys.verdicts, "hash", ttl, keys.counts, "revision"};
}

ProjectionWorker::ProjectionWorker(ProjectionStore& store, VerdictStore& verdicts,
                                   redis::Client& redis, const Clock& clock,
                                   ProjectionOptions options, Metrics& metrics)
    : store_(store),
      verdicts_(verdicts),
      redis_(redis),
      clock_(clock),
      options_(options),
      projected_(Projections(metrics, "written")),
      failed_(Projections(metrics, "failed")),
      foreign_results_(Projections(metrics, "foreign")),
      lost_(metrics.GetCounter("winnow_classification_projection_lost_total",
                               "Videos written to Redis again because a part of theirs was gone.")),
      audit_seconds_(metrics.GetGauge(
          "winnow_classification_projection_audit_seconds",
          "How long the last complete check of the videos in Redis took: what was deleted there is "
          "written again within about this time.")),
      audit_videos_(metrics.GetGauge("winnow_classification_projection_audit_videos",
                                     "Videos that the last complete check of Redis looked at.")),
      foreign_("classification", "videos", kRemedy, metrics) {}

void ProjectionWorker::Start() {
  thread_.Start([this] {
    const Status done = Look();
    if (!done.ok() && !failed_before_) {
      log::Warn("classification: the projection in Redis is outdated",
                {{"error", done.ToString()}});
    }
    failed_before_ = !done.ok();
    return options_.poll;
  });
}

Status ProjectionWorker::Look() {
  if (options_.adopt && !adopted_) WINNOW_RETURN_IF_ERROR(AdoptKeys());
  WINNOW_RETURN_IF_ERROR(ProjectAll());
  const auto now = std::chrono::steady_clock::now();
  if (now < next_audit_) return OkStatus();  // woken early
  next_audit_ = now + options_.poll;
  return Audit();
}

// Without the marker Redis lost what it had, or never had it.
Status ProjectionWorker::CheckMarker() {
  WINNOW_ASSIGN_OR_RETURN(const redis::Reply marker, redis_.Run(Soon(), {"GET", kMarker}));
  WINNOW_RETURN_IF_ERROR(marker.ToStatus());
  if (!marker.IsNil()) return OkStatus();
  WINNOW_RETURN_IF_ERROR(store_.ForgetProjections(Soon()));
  WINNOW_ASSIGN_OR_RETURN(const redis::Reply set, redis_.Run(Soon(), {"SET", kMarker, "1"}));
  return set.ToStatus();
}

Status ProjectionWorker::ProjectAll() {
  WINNOW_RETURN_IF_ERROR(CheckMarker());
  for (;;) {
    WINNOW_ASSIGN_OR_RETURN(const auto videos, store_.UnprojectedVideos(Soon(), kVideos));
    for (const ProjectionStore::Unprojected& video : videos) {
      const Status projected = Project(video);
      (projected.ok() ? projected_ : failed_).Increment();
      // Deleted meanwhile: its row is gone, and its keys were taken away.
      if (projected.code() == StatusCode::kNotFound) continue;
      WINNOW_RETURN_IF_ERROR(projected);
    }
    if (videos.size() < static_cast<size_t>(kVideos)) return OkStatus();
  }
}

Status ProjectionWorker::Stage(const ProjectionStore::Unprojected& video,
                               const ProjectionKeys& keys, StatusCounts& counts,
                               std::string& metadata) {
  std::string after;
  int64_t run = 0;
  for (bool done = false; !done;) {
    WINNOW_ASSIGN_OR_RETURN(const VerdictStore::Page page,
                            verdicts_.Export(Soon(), video.key, run, after, kChunk));
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

StatusOr<bool> ProjectionWorker::MayWrite(const ProjectionStore::Unprojected& video,
                                          const ProjectionKeys& keys) {
  const redis::PublishedKey key = PublishedVerdicts(keys);
  WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> foreign,
                          redis::FindForeign(redis_, Soon(), std::span(&key, 1)));
  const std::string part = PartOf(video.key);
  if (foreign.empty()) {
    foreign_.Clear(part);
    return true;
  }
  foreign_.Report(part, foreign);
  audit_foreign_.insert(part);
  foreign_results_.Increment();
  return false;
}

Status ProjectionWorker::Project(const ProjectionStore::Unprojected& video) {
  const ProjectionKeys keys(video.key, NewUuidV7(clock_.Now()));
  WINNOW_ASSIGN_OR_RETURN(const bool may_write, MayWrite(video, keys));
  if (may_write) WINNOW_RETURN_IF_ERROR(WriteStaged(video, keys));
  // What changed while it was staged raised the revision, and comes again. A video that was not
  // written because of another program's key is tried again by each audit.
  return store_.SetProjected(Soon(), video);
}

Status ProjectionWorker::WriteStaged(const ProjectionStore::Unprojected& video,
                                     const ProjectionKeys& keys) {
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
  const auto left = std::max(
      std::chrono::milliseconds(1),
      std::chrono::duration_cast<std::chrono::milliseconds>(video.expire_time - clock_.Now()));
  const redis::ScriptCall swap =
      redis::CallOn(PublishedVerdicts(keys, left),
                    {keys.filtered, keys.counts, keys.next, keys.next_filtered, keys.next_counts},
                    {std::to_string(video.revision)});
  WINNOW_ASSIGN_OR_RETURN(const int64_t swapped, redis::EvalOn(redis_, Soon(), Swap(), swap));
  if (swapped == redis::kForeign) foreign_.Report(PartOf(video.key), {keys.verdicts});
  return OkStatus();
}

void ProjectionWorker::Remove(const VideoKey& video) {
  const ProjectionKeys keys(video, "");
  const redis::ScriptCall remove =
      redis::CallOn(PublishedVerdicts(keys), {keys.filtered, keys.counts});
  const Status removed = redis::EvalOn(redis_, Soon(), RemoveVideo(), remove).status();
  if (removed.ok()) return;
  log::Warn("classification: a deleted video stays in Redis until it expires",
            {{"error", removed.ToString()}});
}

StatusOr<std::string> ProjectionWorker::Read(Deadline deadline, const std::string& key) {
  WINNOW_ASSIGN_OR_RETURN(const redis::Reply reply, redis_.Run(deadline, {"GET", key}));
  WINNOW_ASSIGN_OR_RETURN(auto text, reply.MaybeText());
  if (!text) return NotFound("redis_key", key);
  return *std::move(text);
}

}  // namespace winnow::classification
