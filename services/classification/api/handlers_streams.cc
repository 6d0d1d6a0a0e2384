#include "services/classification/api/handlers.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/page_token.h"

// Streams to callers.
namespace winnow::classification {
namespace {

constexpr uint8_t kWatchToken = 45;
constexpr uint8_t kExportToken = 46;
constexpr std::chrono::seconds kStepTime(10);
constexpr int kChanges = 100;
// Together below what may wait for a stream's reader (kMaxWatchBytes of platform/grpc).
constexpr int kExportLines = 500;
constexpr int kExportChunks = 20;

Deadline Soon() { return std::chrono::steady_clock::now() + kStepTime; }

bool HasEnded(RunState state) {
  return state == RunState::kComplete || state == RunState::kCancelled ||
         state == RunState::kPaused;
}

// Where a watch of changes stands.
struct ChangeCursor {
  std::string ns;
  std::string video_id;
  uint64_t filter = 0;
  uint64_t epoch = 0;  // of the store's history that the numbers are of
  uint64_t writer = 0;
  int64_t id = 0;

  std::string Token() const {
    return MakePageToken(kWatchToken, filter, static_cast<int64_t>(epoch),
                         static_cast<int64_t>(writer), id);
  }
};

Status ReadToken(const std::string& text, ChangeCursor& at) {
  int64_t epoch = 0, writer = 0;
  WINNOW_RETURN_IF_ERROR(ReadPageToken(text, kWatchToken, at.filter, epoch, writer, at.id));
  at.epoch = static_cast<uint64_t>(epoch);
  at.writer = static_cast<uint64_t>(writer);
  return OkStatus();
}

v1::WatchClassificationsResponse Gap() {
  v1::WatchClassificationsResponse response;
  response.mutable_gap()->set_reason("the store was restored, or is another one");
  return response;
}

// After a failover the numbers of writers mean nothing: goes on from now. False as SendChanges.
bool SendGap(AuditStore& store, ChangeCursor& at,
             const rpc::Subscriber<v1::WatchClassificationsResponse>& subscriber) {
  const StatusOr<AuditStore::Head> head = store.ChangesHead(Soon());
  if (!head.ok()) {
    subscriber.End(head.status());
    return false;
  }
  at.epoch = head->epoch;
  at.writer = head->writer;
  at.id = 0;
  v1::WatchClassificationsResponse response = Gap();
  response.set_resume_token(at.Token());
  return subscriber.Send(std::move(response));
}

// Sends what changed since the cursor; false when the stream has ended.
bool SendChanges(AuditStore& store, ChangeCursor& at,
                 const rpc::Subscriber<v1::WatchClassificationsResponse>& subscriber) {
  if (subscriber.Ended()) return false;
  const auto changes = store.ReadChanges(Soon(), at.ns, at.writer, at.id, kChanges);
  if (!changes.ok()) {
    subscriber.End(changes.status());
    return false;
  }
  if (changes->epoch != at.epoch) return SendGap(store, at, subscriber);
  for (const AuditStore::Change& change : changes->entries) {
    at.writer = change.writer;
    at.id = change.entry.id;
    if (!at.video_id.empty() && at.video_id != change.entry.video_id) continue;
    v1::WatchClassificationsResponse response = ToEvent(change.entry);
    if (response.event_case() == v1::WatchClassificationsResponse::EVENT_NOT_SET) continue;
    response.set_resume_token(at.Token());
    if (!subscriber.Send(std::move(response))) return false;
  }
  return true;
}

}  // namespace

Status Handlers::WatchRun(const rpc::CallContext& call, const v1::WatchRunRequest& request,
                          const rpc::Subscriber<v1::WatchRunResponse>& subscriber) {
  Violations violations;
  WINNOW_ASSIGN_OR_RETURN(const NumberKey key, ToKey(request.namespace_(), request.run_id(),
                                                     "run_id", "run", violations));
  WINNOW_RETURN_IF_ERROR(stores_.runs.GetRun(call.deadline, key).status());
  return watches_.Add([this, key, subscriber, last = std::string()]() mutable {
    if (subscriber.Ended()) return false;
    const auto run = stores_.runs.GetRun(Soon(), key);
    if (!run.ok()) {
      subscriber.End(run.status());
      return false;
    }
    v1::WatchRunResponse response;
    *response.mutable_run() = ToProto(*run);
    std::string now = response.SerializeAsString();
    if (now != last && !subscriber.Send(std::move(response))) return false;
    last = std::move(now);
    if (!HasEnded(run->state) || (run->activate && run->state == RunState::kComplete)) return true;
    subscriber.End(OkStatus());
    return false;
  });
}

Status Handlers::WatchClassifications(
    const rpc::CallContext& call, const v1::WatchClassificationsRequest& request,
    const rpc::Subscriber<v1::WatchClassificationsResponse>& subscriber) {
  Violations violations;
  ChangeCursor at;
  at.ns = ToNamespace(request.namespace_(), violations);
  at.video_id = request.video_id();
  if (!at.video_id.empty()) ToVideoKey("", at.video_id, violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  at.filter = Hash64(at.ns + "/" + at.video_id);
  WINNOW_ASSIGN_OR_RETURN(const AuditStore::Head head, stores_.audit.ChangesHead(call.deadline));
  v1::WatchClassificationsResponse first;
  if (!request.resume_token().empty()) {
    WINNOW_RETURN_IF_ERROR(ReadToken(request.resume_token(), at));
    if (at.epoch != head.epoch || at.writer > head.writer) {
      first = Gap();
    }
  }
  if (request.resume_token().empty() || first.has_gap()) {
    at.epoch = head.epoch;
    at.writer = head.writer;
    at.id = 0;
  }
  first.set_resume_token(at.Token());
  if (!subscriber.Send(std::move(first))) return OkStatus();
  return watches_.Add(
      [this, at, subscriber]() mutable { return SendChanges(stores_.audit, at, subscriber); });
}

Status Handlers::ExportClassifications(
    const rpc::CallContext& call, const v1::ExportClassificationsRequest& request,
    const rpc::Subscriber<v1::ExportClassificationsResponse>& subscriber) {
  WINNOW_ASSIGN_OR_RETURN(const VideoKey key, ToVideoKey(request.namespace_(), request.video_id()));
  const uint64_t filter = Hash64(key.ns + "/" + key.video_id);
  int64_t run = 0;
  std::string after;
  WINNOW_RETURN_IF_ERROR(ReadPageToken(request.resume_token(), kExportToken, filter, run, after));
  const Deadline deadline = std::min(call.deadline, Soon());
  for (int chunk = 0; chunk < kExportChunks; ++chunk) {
    WINNOW_ASSIGN_OR_RETURN(const VerdictStore::Page page,
                            stores_.verdicts.Export(deadline, key, run, after, kExportLines));
    run = page.run;
    v1::ExportClassificationsResponse response;
    for (const Resolved& item : page.items) *response.mutable_ndjson() += ToNdjson(item) + "\n";
    if (!page.items.empty()) after = page.items.back().comment_id;
    response.set_done(page.items.size() < static_cast<size_t>(kExportLines));
    response.set_resume_token(MakePageToken(kExportToken, filter, run, after));
    const bool done = response.done();
    if (!subscriber.Send(std::move(response)) || done) break;
  }
  subscriber.End(OkStatus());
  return OkStatus();
}

}  // namespace winnow::classification
