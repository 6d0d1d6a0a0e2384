#include "services/newsfeed/projection/projection_worker.h"

#include <algorithm>
#include <span>
#include <utility>

#include "services/newsfeed/feed/article_codec.h"
#include "services/newsfeed/projection/projection_client.h"
#include "services/platform/base/timestamp.h"
#include "services/platform/base/uuid.h"
#include "services/platform/process/log.h"

namespace winnow::newsfeed {
namespace {

using redis::Command;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kLookTime(20);
constexpr seconds kLockWarning(60);
constexpr int kMostCategories = 1'000;
// A projection whose position is further back is written again, though its content is the same:
// who reads it back goes through the log from there.
constexpr int64_t kMaxBehind = 1'000;

Counter& Projections(Metrics& metrics, const char* result) {
  return metrics.GetCounter("winnow_newsfeed_projections_total",
                            "Feeds written to Redis, or why not.", {{"result", result}});
}

ProjectionState StateOf(const FeedPage& page, int64_t fence) {
  ProjectionState state;
  state.position = page.until;
  state.epoch = page.epoch;
  state.fence = fence;
  state.whole = !page.next.has_value();
  for (size_t i = 0; i < page.articles.size(); ++i) {
    const StoredArticle& article = page.articles[i];
    state.entries.push_back(
        {{article.publish_time, article.content.id}, page.seqs[i], article.revision});
  }
  return state;
}

constexpr const char* kRemedy =
    "Give the keys to Winnow with `winnow serve --adopt-redis-keys`, which replaces what they hold "
    "(`winnow feed import-redis` stores their articles first), or set redis.url to another Redis "
    "or database.";

Hash128Value ChecksumOf(const ProjectionState& state, const std::vector<std::string>& bytes) {
  return ProjectionChecksum(state, {bytes.begin(), bytes.end()});
}

}  // namespace

ProjectionWorker::ProjectionWorker(FeedStore& feeds, CategoryStore& categories,
                                   ProjectionStore& projections, redis::Client& redis,
                                   const Clock& clock, ProjectionWorkerOptions options,
                                   Metrics& metrics)
    : feeds_(feeds),
      categories_(categories),
      projections_(projections),
      redis_(redis),
      clock_(clock),
      options_(options),
      holder_(NewUuidV7(clock.Now())),
      written_(Projections(metrics, "written")),
      failed_(Projections(metrics, "failed")),
      refused_(Projections(metrics, "fenced")),
      extended_(Projections(metrics, "extended")),
      locked_(Projections(metrics, "locked")),
      foreign_results_(Projections(metrics, "foreign")),
      leads_(metrics.GetGauge("winnow_newsfeed_projector_leads",
                              "1 in the process that writes the feeds to Redis.")),
      removed_(metrics.GetCounter("winnow_newsfeed_projection_removed_total",
                                  "Deleted articles removed from Redis.")),
      foreign_("newsfeed", "feeds", kRemedy, metrics),
      audit_(redis, options.interval, options.audit, metrics) {}

ProjectionWorker::~ProjectionWorker() { Stop(); }

void ProjectionWorker::Start() {
  thread_.Start([this] { return Step(); });
}

void ProjectionWorker::Stop() {
  if (!thread_.Stop()) return;
  // Another process takes over at once; if the store is unavailable, when the lease has ended.
  projections_.ReleaseLease(steady_clock::now() + seconds(1), holder_).IgnoreError();
  leads_.Set(0);
}

std::chrono::milliseconds ProjectionWorker::Step() {
  const Status looked = Look();
  if (!looked.ok() && !is_failing_) {
    log::Warn("the projection of the feeds waits", {{"why", Message(looked)}});
  }
  is_failing_ = !looked.ok();
  return options_.interval;
}

void ProjectionWorker::Renew(const std::string& category) {
  const std::lock_guard lock(mutex_);
  renewed_.insert(category);
}

StatusOr<std::vector<std::string>> ProjectionWorker::Categories(Deadline deadline) {
  CategoryQuery query;
  query.ns = kProjectedNamespace;
  query.page_size = kMostCategories;
  WINNOW_ASSIGN_OR_RETURN(const std::vector<Category> categories,
                          categories_.List(deadline, query));
  std::vector<std::string> ids = {std::string(kAllFeed), std::string(kUncategorizedFeed)};
  for (const Category& category : categories) ids.push_back(category.id);
  return ids;
}

Status ProjectionWorker::Look() {
  if (redis_.away()) return redis_.Check();
  const Deadline deadline = steady_clock::now() + kLookTime;
  if (options_.adopt && !adopted_) WINNOW_RETURN_IF_ERROR(AdoptKeys(deadline));
  const auto fence = projections_.TakeLease(deadline, holder_, options_.lease);
  leads_.Set(fence.ok() && *fence ? 1 : 0);
  if (!fence.ok()) {
    ExtendLives();
    return fence.status();
  }
  if (!*fence) {  // another writes now
    Forget({});
    deletions_.reset();
    return OkStatus();
  }
  WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> categories, Categories(deadline));
  Forget(categories);
  WINNOW_RETURN_IF_ERROR(RemoveDeleted(deadline, **fence));
  WINNOW_RETURN_IF_ERROR(RecheckStopped(deadline));
  WINNOW_RETURN_IF_ERROR(Audit(deadline));
  return ProjectAll(deadline, categories, **fence);
}

// What is known of other categories than these.
void ProjectionWorker::Forget(const std::vector<std::string>& categories) {
  const std::set<std::string> kept(categories.begin(), categories.end());
  const auto is_gone = [&](const auto& entry) { return !kept.contains(entry.first); };
  std::erase_if(last_, is_gone);
  std::erase_if(stopped_, is_gone);
  std::erase_if(locked_since_, is_gone);
  foreign_.KeepOnly(kept);
}

Status ProjectionWorker::Audit(Deadline deadline) {
  WINNOW_ASSIGN_OR_RETURN(const std::set<std::string> lost, audit_.Look(deadline, last_));
  for (const std::string& category : lost) last_.erase(category);
  const std::lock_guard lock(mutex_);
  for (const std::string& category : renewed_) last_.erase(category);
  renewed_.clear();
  return OkStatus();
}

Status ProjectionWorker::ProjectAll(Deadline deadline, const std::vector<std::string>& categories,
                                    int64_t fence) {
  Status result;
  for (const std::string& category : categories) {
    if (stopped_.contains(category)) continue;
    const Status done = Project(deadline, category, fence);
    if (done.ok()) continue;
    failed_.Increment();
    result = done;
  }
  return result;
}

StatusOr<FeedPage> ProjectionWorker::ReadFeed(Deadline deadline, const std::string& category) {
  FeedQuery query;
  query.ns = kProjectedNamespace;
  query.category = category;
  query.page_size = kProjectedArticles;
  query.scan_limit = kProjectedArticles + 1;
  return feeds_.ListArticles(deadline, query);
}

Status ProjectionWorker::Project(Deadline deadline, const std::string& category, int64_t fence) {
  WINNOW_ASSIGN_OR_RETURN(const FeedPage page, ReadFeed(deadline, category));
  if (page.epoch.empty()) return OkStatus();  // the log is empty
  ProjectionState state = StateOf(page, fence);
  std::vector<std::string> bytes;
  for (const StoredArticle& article : page.articles) bytes.push_back(Encode(article)->bytes);
  ProjectionState timeless = state;
  timeless.position = 0;
  const Hash128Value content = ChecksumOf(timeless, bytes);
  const auto last = last_.find(category);
  const auto now = steady_clock::now();
  const bool there = last != last_.end() && last->second.content == content &&
                     now - last->second.at < options_.refresh &&
                     state.position - last->second.position < kMaxBehind;
  if (there) return OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const WriteResult result,
                          TryWrite(deadline, category, page, state, bytes));
  switch (result) {
    case WriteResult::kWritten:
      break;
    case WriteResult::kFenced:
      refused_.Increment();
      return OkStatus();
    case WriteResult::kLocked:
      LogLocked(category);
      return OkStatus();
    case WriteResult::kForeign:
      foreign_results_.Increment();
      return OkStatus();
  }
  written_.Increment();
  locked_since_.erase(category);
  WrittenFeed& written = last_[category];
  written = {content, state.position, now, {}};
  for (const ProjectedEntry& entry : state.entries) written.ids.push_back(entry.key.id);
  return OkStatus();
}

StatusOr<ProjectionWorker::WriteResult> ProjectionWorker::TryWrite(
    Deadline deadline, const std::string& category, const FeedPage& page,
    const ProjectionState& state, const std::vector<std::string>& bytes) {
  std::vector<redis::PublishedKey> keys = {PublishedFeed(category), PublishedMeta(category)};
  for (const ProjectedEntry& entry : state.entries) keys.push_back(PublishedArticle(entry.key.id));
  WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> foreign,
                          redis::FindForeign(redis_, deadline, keys));
  if (!foreign.empty()) {
    const std::set<std::string> names(foreign.begin(), foreign.end());
    std::erase_if(keys, [&](const redis::PublishedKey& key) { return !names.contains(key.name); });
    return StopFeed(category, std::move(keys));
  }
  const std::string lock[] = {LockKeyOf(category)};
  const std::string holder[] = {"winnow:" + holder_, std::to_string(kLockTtlSeconds)};
  WINNOW_ASSIGN_OR_RETURN(const redis::Reply taken,
                          redis_.Eval(deadline, LockScript(), lock, holder));
  WINNOW_ASSIGN_OR_RETURN(const int64_t is_mine, taken.Integer());
  if (is_mine == 0) return WriteResult::kLocked;
  auto result = WriteLocked(deadline, category, page, state, bytes);
  const auto released =
      redis_.Eval(steady_clock::now() + seconds(1), UnlockScript(), lock, std::span(holder, 1));
  if (result.ok()) WINNOW_RETURN_IF_ERROR(released.status());
  return result;
}

StatusOr<ProjectionWorker::WriteResult> ProjectionWorker::WriteLocked(
    Deadline deadline, const std::string& category, const FeedPage& page,
    const ProjectionState& state, const std::vector<std::string>& bytes) {
  const ProjectedFeed projected{state.position, state.epoch, ChecksumOf(state, bytes)};
  WINNOW_ASSIGN_OR_RETURN(
      const bool noted,
      projections_.Note(deadline, FeedName(kProjectedNamespace, category), projected, state.fence));
  if (!noted) return WriteResult::kFenced;
  // Articles first: a reader that sees them in the feed finds them.
  std::vector<redis::ScriptCall> articles;
  for (size_t i = 0; i < page.articles.size(); ++i) {
    articles.push_back(MakeArticle(page.articles[i], bytes[i]));
  }
  WINNOW_ASSIGN_OR_RETURN(const std::vector<int64_t> kept,
                          redis::EvalAll(redis_, deadline, ReplaceHashScript(), articles));
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] != redis::kForeign) continue;
    return StopFeed(category, {PublishedArticle(page.articles[i].content.id)});
  }
  WINNOW_ASSIGN_OR_RETURN(const int64_t swapped,
                          redis::EvalOn(redis_, deadline, SwapScript(), MakeSwap(category, state)));
  if (swapped == redis::kForeign) return StopFeed(category, {PublishedFeed(category)});
  if (swapped == 0) return WriteResult::kFenced;
  const bool stale = !page.created_at || clock_.Now() - *page.created_at >= options_.stale_after;
  const redis::ScriptCall meta = MakeMeta(category, state, FormatTime(clock_.Now()), stale);
  WINNOW_ASSIGN_OR_RETURN(const int64_t replaced,
                          redis::EvalOn(redis_, deadline, ReplaceHashScript(), meta));
  if (replaced == redis::kForeign) return StopFeed(category, {PublishedMeta(category)});
  return WriteResult::kWritten;
}

ProjectionWorker::WriteResult ProjectionWorker::StopFeed(const std::string& category,
                                                         std::vector<redis::PublishedKey> keys) {
  std::vector<std::string> names;
  for (const redis::PublishedKey& key : keys) names.push_back(key.name);
  foreign_.Report(category, names);
  last_.erase(category);
  stopped_[category] = std::move(keys);
  return WriteResult::kForeign;
}

Status ProjectionWorker::RecheckStopped(Deadline deadline) {
  std::vector<redis::PublishedKey> keys;
  for (const auto& [category, stopping] : stopped_) {
    keys.insert(keys.end(), stopping.begin(), stopping.end());
  }
  WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> found,
                          redis::FindForeign(redis_, deadline, keys));
  const std::set<std::string> foreign(found.begin(), found.end());
  for (auto at = stopped_.begin(); at != stopped_.end();) {
    const bool stays = std::any_of(at->second.begin(), at->second.end(),
                                   [&](const auto& key) { return foreign.contains(key.name); });
    if (stays) {
      ++at;
      continue;
    }
    foreign_.Clear(at->first);
    at = stopped_.erase(at);
  }
  return OkStatus();
}

void ProjectionWorker::LogLocked(const std::string& category) {
  locked_.Increment();
  const auto now = steady_clock::now();
  const auto since = locked_since_.emplace(category, now).first;
  if (now - since->second < kLockWarning) return;
  since->second = now;
  log::Warn(
      "a feed waits for another program's lock in Redis",
      {{"category", category},
       {"key", LockKeyOf(category)},
       {"seconds", static_cast<int64_t>(kLockWarning.count())},
       {"remedy", "end the program that holds it, or delete the key if that program is gone"}});
}

// The store is away: readers of Redis go on with what was written last.
void ProjectionWorker::ExtendLives() {
  if (last_.empty()) return;
  std::vector<redis::ScriptCall> calls;
  std::vector<Command> states;
  for (const auto& [category, written] : last_) {
    calls.push_back(redis::CallOn(PublishedFeed(category)));
    calls.push_back(redis::CallOn(PublishedMeta(category)));
    for (const std::string& id : written.ids) calls.push_back(redis::CallOn(PublishedArticle(id)));
    states.push_back({"EXPIRE", StateKeyOf(category), std::to_string(kFeedTtlSeconds)});
  }
  const Deadline deadline = steady_clock::now() + seconds(5);
  if (redis_.Pipeline(deadline, states).ok() &&
      redis::EvalAll(redis_, deadline, redis::ExtendScript(), calls).ok()) {
    extended_.Increment();
  }
}

}  // namespace winnow::newsfeed
