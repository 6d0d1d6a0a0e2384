// How a decider's window follows the log of its namespace.
#include <algorithm>

#include "services/dedup/store_policies.h"
#include "services/dedup/worker_decider.h"
#include "services/platform/log.h"
#include "services/platform/postgres/log_transaction.h"

namespace winnow::dedup {
namespace {

constexpr int kPage = 2'000;
// Entries of other instances that a transaction reads while others wait for its lock.
constexpr int64_t kMostReadUnderLock = 4'000;
constexpr int64_t kMostSegmentEntries = 60'000;
constexpr int64_t kLeastSegmentEntries = 500;

uint16_t SegmentEntries(int64_t max_documents) {
  return static_cast<uint16_t>(
      std::clamp(max_documents / 16, kLeastSegmentEntries, kMostSegmentEntries));
}

}  // namespace

NamespaceDecider::NamespaceDecider(std::string ns, const WorkerParts& parts)
    : ns_(std::move(ns)), parts_(parts) {}

NamespaceDecider::~NamespaceDecider() {
  window_.reset();
  KeepWithinMemory();
}

Status NamespaceDecider::Load(Deadline deadline) {
  if (!window_) WINNOW_RETURN_IF_ERROR(Open(deadline));
  // Page by page: what was read stays when time runs out, so that the next try goes on from there.
  while (!is_current_) {
    WINNOW_ASSIGN_OR_RETURN(is_current_, ReadPage(deadline));
    window_->Expire();
    KeepWithinMemory();
  }
  return OkStatus();
}

Status NamespaceDecider::Open(Deadline deadline) {
  return parts_.reads.Read(deadline, [&](pg::Session& session) -> Status {
    const pg::Stream stream{kSchema, ns_};
    WINNOW_ASSIGN_OR_RETURN(const pg::Head head, pg::ReadHead(session, stream));
    const Policy policy = ReadPolicy(session, ns_).value_or(parts_.initial_policy);
    const std::optional<Time> last = LastArrival(session, ns_);
    int64_t first = head.head + 1;
    if (last) first = FirstSeqSince(session, ns_, head.head, *last - policy.window);
    window_.emplace(parts_.rules, policy, first - 1, SegmentEntries(parts_.memory.max_documents),
                    parts_.meaning());
    epoch_ = head.epoch;
    is_current_ = false;
    return OkStatus();
  });
}

// True when there is no more.
StatusOr<bool> NamespaceDecider::ReadPage(Deadline deadline) {
  return parts_.reads.Read(deadline, [&](pg::Session& session) -> StatusOr<bool> {
    const auto entries = ReadEntries(session, ns_, window_->position(), kPage, parts_.model());
    for (const LogEntry& entry : entries) window_->Keep(entry);
    return entries.size() < kPage;
  });
}

// Brings the window to the log's head, unless that is better done outside of the lock.
NamespaceDecider::Need NamespaceDecider::FollowLog(pg::Session& session, const pg::Head& log,
                                                   const Policy& policy) {
  // A server of another history, or one that was set back: nothing that was read holds.
  if (log.epoch != epoch_ || log.head < window_->position()) return Need::kReload;
  if (!window_->Apply(policy) || window_->has_too_many_channels()) return Need::kReload;
  if (log.head - window_->position() > kMostReadUnderLock) return Need::kCatchUp;
  while (window_->position() < log.head) {
    const auto entries = ReadEntries(session, ns_, window_->position(), kPage, parts_.model());
    for (const LogEntry& entry : entries) window_->Keep(entry);
    if (entries.empty()) window_->Reach(log.head);
    last_foreign_ = std::chrono::steady_clock::now();
  }
  return Need::kNothing;
}

void NamespaceDecider::KeepWithinMemory() {
  const auto account = [&] {
    const int64_t documents = window_ ? static_cast<int64_t>(window_->size()) : 0;
    parts_.memory.documents += documents - counted_documents_;
    counted_documents_ = documents;
  };
  account();
  while (window_ && parts_.memory.documents > parts_.memory.max_documents && window_->Shorten()) {
    account();
    parts_.metrics.CountShortened();
    log::Warn("dedup window shortened to keep within dedup.max_documents",
              {{"namespace", ns_},
               {"documents", counted_documents_},
               {"max_documents", parts_.memory.max_documents}});
  }
}

}  // namespace winnow::dedup
