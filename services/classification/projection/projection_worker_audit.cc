#include <algorithm>
#include <cstdlib>

#include "services/classification/projection/projection_worker.h"
#include "services/platform/process/log.h"

// The projection's comparison of what Redis holds with what was written, and keys that are adopted.
namespace winnow::classification {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kTime(20);
constexpr int kMinAuditSlice = 100;
constexpr int kAdoptPage = 1'000;
// Keys that are about to expire are not written again.
constexpr std::chrono::seconds kExpiring(5);
constexpr size_t kRepliesPerVideo = 3;

Deadline Soon() { return steady_clock::now() + kTime; }

int64_t NumberOr0(const std::optional<std::string>& text) {
  return text ? std::strtoll(text->c_str(), nullptr, 10) : 0;
}

// Whether the verdicts' Hash has as many fields, and the index as many members, as were written.
// What another process wrote of a later revision is as good.
bool IsIntact(const redis::Reply* replies, int64_t revision) {
  const auto counts = replies[0].MaybeTexts();
  const auto fields = replies[1].Integer();
  const auto filtered = replies[2].Integer();
  if (!counts.ok() || counts->size() != 4 || !counts->front() || !fields.ok() || !filtered.ok()) {
    return false;
  }
  const int64_t comments =
      NumberOr0((*counts)[1]) + NumberOr0((*counts)[2]) + NumberOr0((*counts)[3]);
  return NumberOr0((*counts)[0]) >= revision && *fields == (comments == 0 ? 0 : comments + 1) &&
         *filtered == NumberOr0((*counts)[2]);
}

}  // namespace

void ProjectionWorker::BeginAudit() {
  audit_begun_ = steady_clock::now();
  audit_after_ = 0;
  audit_count_ = 0;
  audit_foreign_.clear();
}

void ProjectionWorker::EndAudit() {
  const std::chrono::duration<double> took = steady_clock::now() - *audit_begun_;
  audit_begun_.reset();
  audit_seconds_.Set(took.count());
  audit_videos_.Set(static_cast<double>(audit_count_));
  foreign_.KeepOnly(audit_foreign_);
  const auto polls =
      std::max<int64_t>(1, options_.audit / std::max(options_.poll, std::chrono::milliseconds(1)));
  const auto wanted = audit_count_ / polls + 1;
  audit_slice_ = static_cast<int>(std::clamp<int64_t>(wanted, kMinAuditSlice, kMaxAuditSlice));
}

Status ProjectionWorker::Audit() {
  if (!audit_begun_) BeginAudit();
  WINNOW_ASSIGN_OR_RETURN(const auto videos,
                          store_.ProjectedVideos(Soon(), audit_after_, audit_slice_, false));
  WINNOW_ASSIGN_OR_RETURN(const auto lost, FindLost(videos));
  for (const ProjectionStore::Unprojected& video : lost) {
    const Status projected = Project(video);
    if (projected.code() == StatusCode::kNotFound) continue;  // deleted meanwhile
    WINNOW_RETURN_IF_ERROR(projected);
  }
  audit_count_ += std::ssize(videos);
  if (std::ssize(videos) < audit_slice_) {
    EndAudit();
  } else {
    audit_after_ = videos.back().number;
  }
  return OkStatus();
}

StatusOr<std::vector<ProjectionStore::Unprojected>> ProjectionWorker::FindLost(
    std::span<const ProjectionStore::Unprojected> videos) {
  std::vector<redis::Command> asks;
  for (const ProjectionStore::Unprojected& video : videos) {
    const ProjectionKeys keys(video.key, "");
    asks.push_back({"HMGET", keys.counts, "revision", "normal", "filtered", "content_suggestion"});
    asks.push_back({"HLEN", keys.verdicts});
    asks.push_back({"ZCARD", keys.filtered});
  }
  std::vector<ProjectionStore::Unprojected> lost;
  if (asks.empty()) return lost;
  WINNOW_ASSIGN_OR_RETURN(const auto replies, redis_.Pipeline(Soon(), asks));
  const Time latest = clock_.Now() + kExpiring;
  for (size_t i = 0; i < videos.size(); ++i) {
    if (videos[i].expire_time <= latest) continue;
    if (IsIntact(&replies[i * kRepliesPerVideo], videos[i].revision)) continue;
    lost.push_back(videos[i]);
    if (!foreign_.Stops(PartOf(videos[i].key))) lost_.Increment();
  }
  return lost;
}

Status ProjectionWorker::AdoptKeys() {
  size_t count = 0;
  int64_t after = 0;
  for (bool is_last = false; !is_last;) {
    WINNOW_ASSIGN_OR_RETURN(const auto videos,
                            store_.ProjectedVideos(Soon(), after, kAdoptPage, true));
    is_last = videos.size() < static_cast<size_t>(kAdoptPage);
    std::vector<redis::PublishedKey> keys;
    for (const ProjectionStore::Unprojected& video : videos) {
      after = video.number;
      keys.push_back(PublishedVerdicts(ProjectionKeys(video.key, "")));
    }
    WINNOW_ASSIGN_OR_RETURN(const size_t adopted, redis::Adopt(redis_, Soon(), keys));
    count += adopted;
  }
  adopted_ = true;
  log::Info("keys of other programs in Redis were given to the projection, which will replace them",
            {{"projection", "classification"}, {"keys", count}});
  return OkStatus();
}

}  // namespace winnow::classification
