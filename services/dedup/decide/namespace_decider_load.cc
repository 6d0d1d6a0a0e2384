// How a decider's window follows the log of its namespace.
#include <algorithm>

#include "services/dedup/decide/namespace_decider.h"
#include "services/dedup/decide/page_reader.h"
#include "services/dedup/policy/policy_store.h"
#include "services/platform/postgres/log/log_transaction.h"
#include "services/platform/process/log.h"

namespace winnow::dedup {
namespace {

using std::chrono::steady_clock;

constexpr int kPage = 2'000;
// At most this much is read while a call waits; more is loaded as a window.
constexpr int kMaxPagesCaughtUp = 10;
constexpr int64_t kMaxCaughtUp = int64_t{kPage} * (kMaxPagesCaughtUp - 1);
constexpr std::chrono::seconds kHeadTime(10);
constexpr int64_t kLoggedEntries = 10'000;  // smaller loads are not logged
// Entries of other instances that a transaction reads while others wait for its lock.
constexpr int64_t kMaxReadUnderLock = 4'000;
constexpr int64_t kMaxSegmentEntries = 60'000;
constexpr int64_t kMinSegmentEntries = 500;

uint16_t SegmentEntries(int64_t max_documents) {
  return static_cast<uint16_t>(
      std::clamp(max_documents / 16, kMinSegmentEntries, kMaxSegmentEntries));
}

}  // namespace

NamespaceDecider::NamespaceDecider(std::string ns, const DecisionParts& parts)
    : ns_(std::move(ns)), parts_(parts) {}

NamespaceDecider::~NamespaceDecider() {
  window_.reset();
  KeepWithinMemory();
}

Status NamespaceDecider::Load() {
  progress_.Begin();
  const auto begun = steady_clock::now();
  Status loaded;
  try {
    // Others append meanwhile: after the first time, what a call can wait for is left to calls.
    for (int64_t left = 0; loaded.ok(); left = kMaxCaughtUp) {
      const StatusOr<int64_t> head = HeadToLoad(steady_clock::now() + kHeadTime);
      loaded = head.status();
      if (!loaded.ok() || *head - window_->position() <= left) break;
      loaded = LoadUpTo(*head);
    }
  } catch (const std::exception& error) {
    window_.reset();
    loaded = Internal("window of namespace " + ns_ + ": " + error.what());
  }
  if (loaded.ok()) is_far_behind_ = is_current_ = false;  // the next call reads the rest
  if (loaded.ok() && progress_.entries() >= kLoggedEntries) {
    const double seconds = std::chrono::duration<double>(steady_clock::now() - begun).count();
    log::Info("dedup window loaded",
              {{"namespace", ns_},
               {"entries", progress_.entries()},
               {"documents", window_->size()},
               {"seconds", seconds},
               {"entries_per_second", static_cast<double>(progress_.entries()) / seconds}});
  }
  progress_.End();
  return loaded;
}

// With a window of the log's history, which may hold nothing yet.
StatusOr<int64_t> NamespaceDecider::HeadToLoad(Deadline deadline) {
  pg::Head log;
  WINNOW_RETURN_IF_ERROR(parts_.reads.Statements(deadline, [&](pg::Session& session) -> Status {
    WINNOW_ASSIGN_OR_RETURN(log, pg::ReadHead(session, {kSchema, ns_}));
    return OkStatus();
  }));
  if (window_ && (log.epoch != epoch_ || log.head < window_->position())) window_.reset();
  if (!window_) {
    is_far_behind_ = true;
    WINNOW_RETURN_IF_ERROR(Open(deadline));
  }
  return log.head;
}

Status NamespaceDecider::LoadUpTo(int64_t head) {
  const int64_t entries = head - window_->position();
  progress_.Expect(progress_.entries() + entries);
  if (entries >= kLoggedEntries) {
    log::Info("dedup window load begins", {{"namespace", ns_}, {"entries", entries}});
  }
  PageReader pages(parts_, ns_, window_->policy(), window_->position(), head);
  while (!pages.at_end()) {
    WINNOW_ASSIGN_OR_RETURN(const PageReader::Page page, pages.Next());
    const std::set<int64_t> missing = window_->MissingOriginals(*page.entries);
    std::map<int64_t, LogEntry> originals;
    if (!missing.empty()) {
      WINNOW_RETURN_IF_ERROR(
          parts_.reads.Statements(steady_clock::now() + kHeadTime, [&](pg::Session& session) {
            originals = ReadOriginals(session, ns_, missing, parts_.model());
            return OkStatus();
          }));
    }
    const int64_t before = window_->position();
    window_->Keep(*page.entries, originals);
    window_->Reach(page.last);
    window_->Expire();
    KeepWithinMemory();
    progress_.Advance(page.last - before);
  }
  return OkStatus();
}

// Page by page: what was read stays when time runs out, so that the next try goes on from there.
// Leaves a window that is far behind to Load.
Status NamespaceDecider::CatchUp(Deadline deadline) {
  for (int pages = 0; is_loaded() && !is_current_; ++pages) {
    is_far_behind_ = pages == kMaxPagesCaughtUp;
    if (is_far_behind_) break;
    WINNOW_ASSIGN_OR_RETURN(is_current_, ReadPage(deadline));
    window_->Expire();
    KeepWithinMemory();
  }
  return OkStatus();
}

Status NamespaceDecider::Open(Deadline deadline) {
  return parts_.reads.Statements(deadline, [&](pg::Session& session) -> Status {
    const pg::Stream stream{kSchema, ns_};
    WINNOW_ASSIGN_OR_RETURN(const pg::Head head, pg::ReadHead(session, stream));
    const Policy policy = ReadPolicy(session, ns_).value_or(parts_.initial_policy);
    const std::optional<Time> last = LastArrival(session, ns_);
    int64_t first = head.head + 1;
    if (last) first = FirstSeqSince(session, ns_, head.head, *last - policy.window);
    if (head.head - first >= parts_.memory.max_documents) {
      // The oldest would be forgotten as they come.
      first = head.head - parts_.memory.max_documents + 1;
      CountShortened(parts_.memory.max_documents);
    }
    window_.emplace(parts_.rules, policy, first - 1, SegmentEntries(parts_.memory.max_documents),
                    parts_.meaning());
    epoch_ = head.epoch;
    is_current_ = false;
    return OkStatus();
  });
}

// True when there is no more.
StatusOr<bool> NamespaceDecider::ReadPage(Deadline deadline) {
  return parts_.reads.Statements(deadline, [&](pg::Session& session) -> StatusOr<bool> {
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
  if (log.head - window_->position() > kMaxReadUnderLock) return Need::kCatchUp;
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
    CountShortened(counted_documents_);
  }
}

void NamespaceDecider::CountShortened(int64_t documents) const {
  parts_.metrics.CountShortened();
  log::Warn("dedup window shortened to keep within dedup.max_documents",
            {{"namespace", ns_},
             {"documents", documents},
             {"max_documents", parts_.memory.max_documents}});
}

}  // namespace winnow::dedup
