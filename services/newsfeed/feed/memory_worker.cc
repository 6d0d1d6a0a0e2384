#include "services/newsfeed/feed/memory_worker.h"

#include <algorithm>
#include <limits>
#include <map>

#include "services/newsfeed/articles/category.h"
#include "services/newsfeed/articles/feeds_log_sql.h"
#include "services/newsfeed/feed/article_codec.h"
#include "services/platform/process/log.h"

namespace winnow::newsfeed {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kCommitWait(200);
constexpr std::chrono::seconds kFillTime(10);
// Feeds that wait to be filled; who asks beyond asks again with its next page.
constexpr size_t kMaxRequested = 1'000;
constexpr int kChangesAtOnce = 1'000;
// Changes that a fill from Redis is brought up to date by; further behind, the store is read.
constexpr int kMaxReplayed = 5'000;

Counter& Fills(Metrics& metrics, const char* result) {
  return metrics.GetCounter("winnow_newsfeed_memory_fills_total",
                            "Feeds read into memory, or why not.", {{"result", result}});
}

FeedFill ToFill(const std::string& ns, FeedPage page) {
  FeedFill fill;
  fill.ns = ns;
  fill.whole = !page.next.has_value();
  fill.position = page.until;
  fill.epoch = std::move(page.epoch);
  fill.freshness = {page.changed_at, page.created_at, page.tree_revision};
  fill.entries.reserve(page.articles.size());
  for (size_t i = 0; i < page.articles.size(); ++i) {
    StoredArticle& article = page.articles[i];
    FeedKey key{article.publish_time, article.content.id};
    fill.entries.push_back({std::move(key), page.seqs[i], Encode(std::move(article))});
  }
  return fill;
}

}  // namespace

MemoryWorker::MemoryWorker(pg::Pool& reads, FeedStore& store, FeedMemory& memory,
                           Followers& followers, int fill_size, Metrics& metrics)
    : store_(store),
      reads_(reads),
      memory_(memory),
      followers_(followers),
      fill_size_(fill_size),
      fills_(Fills(metrics, "ok")),
      cold_fills_(Fills(metrics, "redis")),
      failed_fills_(Fills(metrics, "failed")),
      applied_(metrics.GetCounter("winnow_newsfeed_memory_changes_total",
                                  "Changes of the log applied to feeds in memory.")),
      tailer_(
          reads, {.stream = FeedsStream()},
          [this](pg::Session& session, int64_t after, int64_t until, int limit) {
            return Apply(session, after, until, limit);
          },
          [this](pg::Session& session) { return Reload(session); }) {
  gauges_.push_back(metrics.AddGauge("winnow_newsfeed_memory_feeds", "Feeds in memory.", {},
                                     [this] { return static_cast<double>(memory_.feeds()); }));
  gauges_.push_back(
      metrics.AddGauge("winnow_newsfeed_memory_up",
                       "Whether memory follows the log: 0 while the store is unavailable.", {},
                       [this] { return healthy() ? 1.0 : 0.0; }));
  gauges_.push_back(metrics.AddGauge("winnow_newsfeed_memory_entries",
                                     "Entries of the feeds in memory.", {},
                                     [this] { return static_cast<double>(memory_.articles()); }));
}

MemoryWorker::~MemoryWorker() { Stop(); }

void MemoryWorker::Start() {
  tailer_.Start();
  filler_ = std::jthread([this] { FillLoop(); });
}

void MemoryWorker::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_.request_stop();
  }
  if (filler_.joinable()) filler_.join();
  tailer_.Stop();
}

void MemoryWorker::RequestFill(const std::string& ns, const std::string& category) {
  {
    const std::lock_guard lock(mutex_);
    if (stop_.stop_requested() || requested_.size() >= kMaxRequested) return;
    if (!requested_.insert({ns, category}).second) return;
    queue_.emplace_back(ns, category);
  }
  wake_.notify_one();
}

void MemoryWorker::FillLoop() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, stop_.get_token(), [this] { return !queue_.empty(); });
    if (stop_.stop_requested()) return;
    const Feed feed = queue_.front();
    queue_.pop_front();
    lock.unlock();
    Fill(feed);
    lock.lock();
    requested_.erase(feed);
  }
}

void MemoryWorker::Fill(const Feed& feed) {
  const auto& [ns, category] = feed;
  const std::string name = FeedName(ns, category);
  std::optional<FeedFill> cold;
  if (cold_read_ && !memory_.Has(name)) cold = cold_read_(ns, category);
  const std::lock_guard lock(change_mutex_);
  if (!memory_.WantsFill(name)) return;
  if (cold) {
    const auto whole =
        reads_.Statements(steady_clock::now() + kFillTime,
                          [&](pg::Session& session) { return CatchUp(session, name, *cold); });
    if (whole.ok() && *whole) {
      memory_.Install(name, *std::move(cold));
      cold_fills_.Increment();
      return;
    }
  }
  FillFromStore(steady_clock::now() + kFillTime, feed).IgnoreError();  // counted there
}

Status MemoryWorker::FillFromStore(Deadline deadline, const Feed& feed) {
  FeedQuery query;
  query.ns = feed.first;
  query.category = feed.second;
  query.page_size = fill_size_;
  query.scan_limit = fill_size_ + 1;
  StatusOr<FeedPage> page = store_.ListArticles(deadline, query);
  if (!page.ok()) {
    failed_fills_.Increment();
    return page.status();
  }
  if (page->epoch.empty()) return OkStatus();  // the log is empty
  memory_.Install(FeedName(feed.first, feed.second), ToFill(feed.first, *std::move(page)));
  fills_.Increment();
  return OkStatus();
}

Status MemoryWorker::Refill(Deadline deadline, const std::string& ns, const std::string& category) {
  const std::lock_guard lock(change_mutex_);
  return FillFromStore(deadline, {ns, category});
}

// Brings a fill of an earlier position to the head of the log, so that it is as fresh as one from
// the store. False when it cannot be.
StatusOr<bool> MemoryWorker::CatchUp(pg::Session& session, const std::string& feed,
                                     FeedFill& fill) {
  WINNOW_ASSIGN_OR_RETURN(const pg::Head head, ReadHead(session, FeedsStream()));
  if (head.epoch != fill.epoch || head.head < fill.position) return false;
  const int64_t position = head.head;
  if (position == fill.position) return true;
  if (position - fill.position > kMaxReplayed) return false;
  const auto changes = ReadChanges(session, fill.position, position, kMaxReplayed);
  if (changes.empty() || changes.front().seq != fill.position + 1) return false;
  FeedPrefix prefix(fill.entries.size() + changes.size());
  prefix.Fill(std::move(fill.entries), fill.whole);
  std::vector<Place> places;
  for (const LoggedChange& change : changes) {
    if (change.ns == fill.ns) places.push_back({change.ns, feed, change.key});
  }
  std::vector<std::optional<PlacedArticle>> now = ReadPlaces(session, places);
  for (size_t i = 0; i < places.size(); ++i) {
    if (now[i]) {
      prefix.Put({places[i].key, now[i]->seq, Encode(std::move(now[i]->article))});
    } else {
      prefix.Remove(places[i].key);
    }
  }
  const size_t all = prefix.size();
  fill.entries = prefix.Cut({.until = std::numeric_limits<int64_t>::max(), .limit = all}).entries;
  fill.whole = !prefix.floor().has_value();
  fill.position = position;
  return fill.whole || !fill.entries.empty();
}

StatusOr<int64_t> MemoryWorker::Apply(pg::Session& session, int64_t after, int64_t until,
                                      int limit) {
  int64_t reached = until;
  {
    const std::lock_guard lock(change_mutex_);
    // What was before every fill and every watch matters to none: a process begins near the head.
    const int64_t start =
        std::max(after, std::min(memory_.OldestFill(), followers_.OldestCursor()));
    if (start < until) {
      const std::vector<LoggedChange> changes = ReadChanges(session, start, until, limit);
      if (changes.empty() || changes.front().seq != start + 1) {
        // The log has dropped what was not read in time: what memory has is of no position.
        log::Warn("the log of the feeds was not read in time: memory starts afresh",
                  {{"position", start}, {"head", until}});
        memory_.Clear(until);
        WINNOW_ASSIGN_OR_RETURN(const pg::Head head, ReadHead(session, FeedsStream()));
        followers_.AnnounceGap(head);
      } else {
        if (!memory_.empty()) ApplyChanges(session, changes);
        if (!followers_.empty()) followers_.Publish(session, changes, changes.back().seq);
        if (std::ssize(changes) == limit) reached = changes.back().seq;
        applied_.Increment(static_cast<double>(changes.size()));
      }
    }
    if (reached == until) memory_.Advance(until);
  }
  {
    const std::lock_guard lock(mutex_);  // a thread that began to wait sees it
  }
  advanced_.notify_all();
  return reached;
}

void MemoryWorker::ApplyChanges(pg::Session& session, const std::vector<LoggedChange>& changes) {
  // Of several changes of an article the last counts: what is read is what is there now.
  std::map<std::pair<std::string, FeedKey>, int64_t> latest;
  std::set<std::string> namespaces;
  for (const LoggedChange& change : changes) {
    latest[{change.ns, change.key}] = change.seq;
    namespaces.insert(change.ns);
  }
  std::vector<Place> places;
  std::vector<int64_t> positions;
  for (const auto& [article, seq] : latest) {
    for (std::string& feed : memory_.FeedsAbout(article.first, article.second)) {
      places.push_back({article.first, std::move(feed), article.second});
      positions.push_back(seq);
    }
  }
  std::vector<std::optional<PlacedArticle>> found = ReadPlaces(session, places);
  std::map<int64_t, std::vector<PlaceNow>> now;  // by position
  std::map<std::pair<std::string, FeedKey>, std::shared_ptr<const EncodedArticle>> encoded;
  for (size_t i = 0; i < places.size(); ++i) {
    PlaceNow place{places[i].feed, {places[i].key, 0, nullptr}};
    if (found[i]) {
      auto& bytes = encoded[{places[i].ns, places[i].key}];
      if (bytes == nullptr) bytes = Encode(std::move(found[i]->article));
      place.entry.seq = found[i]->seq;
      place.entry.article = bytes;
    }
    now[positions[i]].push_back(std::move(place));
  }
  for (const auto& [seq, at] : now) memory_.Apply(seq, at);
  for (const auto& [ns, fresh] : ReadFreshness(session, namespaces)) memory_.Refresh(ns, fresh);
}

StatusOr<pg::Head> MemoryWorker::Reload(pg::Session& session) {
  const std::lock_guard lock(change_mutex_);
  WINNOW_ASSIGN_OR_RETURN(const pg::Head head, ReadHead(session, FeedsStream()));
  memory_.Clear(head.head);
  followers_.AnnounceGap(head);
  return head;
}

// Sends what came after `sent`, and advances that. True when the joiner has caught up with the
// tailer and follows.
StatusOr<bool> MemoryWorker::CatchUpAndJoin(pg::Session& session, Joiner& joiner, pg::Head& sent) {
  WINNOW_ASSIGN_OR_RETURN(const pg::Head head, ReadHead(session, FeedsStream()));
  if (sent.head > head.head || sent.epoch != head.epoch) {
    joiner.SendGap(head);
    sent = head;
  } else if (sent.head < head.head) {
    const auto changes = ReadChanges(session, sent.head, head.head, kChangesAtOnce);
    if (changes.empty() || changes.front().seq != sent.head + 1) {
      joiner.SendGap(head);
      sent = head;
    } else {
      joiner.SendChanges(session, changes, sent);
      sent.head = changes.back().seq;
    }
  }
  const std::lock_guard lock(change_mutex_);
  if (memory_.position() > sent.head) return false;
  joiner.Join(sent);
  return true;
}

Status MemoryWorker::Follow(Deadline deadline, const FeedQuery& query, Joiner& joiner) {
  WINNOW_RETURN_IF_ERROR(store_.CheckFeed(deadline, query.ns, query.category));
  return reads_.Statements(deadline, [&](pg::Session& session) -> Status {
    const FeedPosition& from = query.position;
    pg::Head sent{from.until.value_or(from.since), from.epoch};
    if (sent.epoch.empty()) {
      WINNOW_ASSIGN_OR_RETURN(sent, ReadHead(session, FeedsStream()));
    }
    joiner.SendProgress(sent);
    while (!joiner.ended()) {
      WINNOW_ASSIGN_OR_RETURN(const bool joined, CatchUpAndJoin(session, joiner, sent));
      if (joined) return OkStatus();
      if (steady_clock::now() > deadline) return DeadlineExceeded("too much to catch up with");
    }
    return OkStatus();
  });
}

bool MemoryWorker::Await(int64_t position, Deadline deadline) {
  if (memory_.empty() || memory_.position() >= position) return true;
  tailer_.Wake();
  std::unique_lock lock(mutex_);
  return advanced_.wait_until(lock, stop_.get_token(), deadline,
                              [&] { return memory_.position() >= position; });
}

void MemoryWorker::AwaitCommitted(const CommitPosition& last_commit, Deadline deadline) {
  Await(last_commit.Get(), std::min(deadline, std::chrono::steady_clock::now() + kCommitWait));
}

}  // namespace winnow::newsfeed
