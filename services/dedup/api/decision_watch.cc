#include "services/dedup/api/decision_watch.h"

#include <chrono>
#include <map>
#include <utility>

#include "services/platform/process/log.h"

namespace winnow::dedup {
namespace {

using std::chrono::steady_clock;

constexpr int kPage = 500;
constexpr std::chrono::seconds kReadTime(10);

}  // namespace

bool DecisionWatch::Serve(std::list<Watcher>& watchers) {
  has_more_ = false;
  std::map<std::string, Group> groups;
  for (auto at = watchers.begin(); at != watchers.end(); ++at) {
    groups[at->query.ns].push_back(at);
  }
  for (const auto& [ns, group] : groups) {
    const Status fed = FeedNamespace(ns, group);
    // The store is away: watchers wait where they are.
    if (!fed.ok()) log::Warn("decisions cannot be followed now", {{"error", Message(fed)}});
  }
  watchers.remove_if([](const Watcher& each) { return each.subscriber.Ended(); });
  return has_more_;
}

Status DecisionWatch::FeedNamespace(const std::string& ns, const Group& group) {
  WINNOW_ASSIGN_OR_RETURN(
      const pg::Head head,
      reads_.Statements(steady_clock::now() + kReadTime, [&](pg::Session& session) {
        return pg::ReadHead(session, {"dedup", ns});
      }));
  std::map<int64_t, Group> by_place;
  for (const auto& watcher : group) {
    Place(*watcher, head);
    // It has not taken the last page yet: its place waits, so that none is buffered without end.
    if (!watcher->subscriber.Idle()) {
      has_more_ = has_more_ || *watcher->query.after < head.head;
      continue;
    }
    by_place[*watcher->query.after].push_back(watcher);
  }
  for (const auto& [after, at_place] : by_place) {
    if (after == head.head) {
      for (const auto& watcher : at_place) {
        if (!watcher->is_greeted || watcher->has_gap) Send(*watcher, {}, after);
      }
      continue;
    }
    if (!FeedPage(ns, head, after, at_place)) return OkStatus();
  }
  return OkStatus();
}

// A new watcher begins at the head. So does one whose number is of another history, or not given
// yet: it receives a gap.
void DecisionWatch::Place(Watcher& watcher, const pg::Head& head) {
  std::optional<int64_t>& after = watcher.query.after;
  const bool is_known = after && watcher.query.epoch == head.epoch && *after <= head.head;
  if (after && !is_known) watcher.has_gap = true;
  if (!is_known) after = head.head;
  watcher.query.epoch = head.epoch;
}

bool DecisionWatch::FeedPage(const std::string& ns, const pg::Head& head, int64_t after,
                             const Group& group) {
  const auto page =
      reads_.Statements(steady_clock::now() + kReadTime,
                        [&](pg::Session& session) -> StatusOr<std::vector<NumberedDecision>> {
                          return ReadDecisionsAfter(session, ns, after, head.head, kPage);
                        });
  if (!page.ok()) {
    log::Warn("decisions cannot be followed now", {{"error", Message(page.status())}});
    return false;
  }
  const bool is_whole = page->size() < static_cast<size_t>(kPage);
  const int64_t reached = is_whole ? head.head : page->back().seq;
  has_more_ = has_more_ || !is_whole;
  for (const auto& watcher : group) Send(*watcher, *page, reached);
  return true;
}

bool DecisionWatch::Send(Watcher& watcher, const std::vector<NumberedDecision>& decisions,
                         int64_t reached) {
  v1::WatchDecisionsResponse response;
  if (std::exchange(watcher.has_gap, false)) {
    response.mutable_gap()->set_reason("the store was restored, or another one took over");
  }
  for (const NumberedDecision& each : decisions) {
    if (watcher.query.verdict && *watcher.query.verdict != each.decision.verdict) continue;
    *response.add_decisions() = ToProto(each.decision);
  }
  watcher.query.after = reached;
  response.set_resume_token(ResumeToken(watcher.query.ns, reached, watcher.query.epoch));
  // Skipped entries advance the token too.
  watcher.is_greeted = true;
  return watcher.subscriber.Send(std::move(response));
}

}  // namespace winnow::dedup
