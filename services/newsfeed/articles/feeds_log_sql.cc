#include "services/newsfeed/articles/feeds_log_sql.h"

#include <map>

#include "services/newsfeed/articles/feeds_log.sql.h"

namespace winnow::newsfeed {
namespace {

// Changes that stay readable for followers of the log; one further behind reloads.
constexpr int64_t kKeptChanges = 1'000'000;
// What is beyond goes when a transaction passes a multiple of this.
constexpr int64_t kPruneEvery = 1'000;

struct Changed {
  pg::Array namespaces;
  pg::Array created;  // whether anything came into it
};

Changed NamespacesOf(std::span<const Change> changes) {
  std::map<std::string, bool> created_in;
  for (const Change& change : changes) {
    created_in[change.ns] |= change.kind == ChangeKind::kCreated;
  }
  Changed changed;
  for (const auto& [ns, any] : created_in) {
    changed.namespaces.Add(ns);
    changed.created.Add(any);
  }
  return changed;
}

}  // namespace

const pg::Stream& FeedsStream() {
  static const pg::Stream kStream{"newsfeed", "feeds"};
  return kStream;
}

void PlanByIndex(pg::Session& session) {
  session.ExecuteText(
      "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; "
      "SET LOCAL enable_mergejoin = off");
}

LogReceipt AppendChanges(pg::LogSession& log, std::span<const Change> changes) {
  if (changes.empty()) return {};
  const int64_t first = log.Append(static_cast<int64_t>(changes.size()));
  pg::Array namespaces;
  pg::Array ids;
  pg::Array kinds;
  pg::Array left_feeds;
  for (const Change& change : changes) {
    namespaces.Add(change.ns);
    ids.Add(change.id);
    kinds.Add(static_cast<int>(change.kind));
    pg::Array left;
    for (const std::string& feed : change.left_feeds) left.Add(feed);
    left_feeds.Add(left.ToString());
  }
  const Changed changed = NamespacesOf(changes);
  log.session().Execute(sql::kAppendChanges, first, namespaces, ids, kinds, left_feeds,
                        log.arrival_time(), changed.namespaces, changed.created);
  const int64_t last = first + std::ssize(changes) - 1;
  if ((first - 1) / kPruneEvery != last / kPruneEvery) {
    log.session().Execute(sql::kPruneChanges, first - kKeptChanges);
  }
  return {first, changes[0].ns, changes[0].id};
}

StatusOr<bool> IsCommitted(pg::Session& session, const LogReceipt& receipt) {
  if (receipt.first == 0) return false;
  return !session.Execute(sql::kFindChange, receipt.first, receipt.ns, receipt.id).empty();
}

}  // namespace winnow::newsfeed
