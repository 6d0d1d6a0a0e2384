#include "services/newsfeed/worker_projector.h"

#include <algorithm>

#include "services/newsfeed/convert.h"
#include "services/newsfeed/worker_projection_script.h"
#include "services/platform/log.h"
#include "services/platform/timestamp.h"
#include "services/platform/uuid.h"

namespace winnow::newsfeed {
namespace {

using redis::Command;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kLookTime(20);
constexpr int kMostCategories = 1'000;
// A projection whose position is further back is written again, though its content is the same:
// who reads it back goes through the log from there.
constexpr int64_t kMostBehind = 1'000;

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

Hash128Value ChecksumOf(const ProjectionState& state, const std::vector<std::string>& bytes) {
  return ProjectionChecksum(state, {bytes.begin(), bytes.end()});
}

}  // namespace

Projector::Projector(Store& store, ProjectionStore& projections, redis::Client& redis,
                     const Clock& clock, ProjectorOptions options, Metrics& metrics)
    : store_(store),
      projections_(projections),
      redis_(redis),
      clock_(clock),
      options_(options),
      holder_(NewUuidV7(clock.Now())),
      written_(Projections(metrics, "written")),
      failed_(Projections(metrics, "failed")),
      refused_(Projections(metrics, "fenced")),
      extended_(Projections(metrics, "extended")),
      leads_(metrics.GetGauge("winnow_newsfeed_projector_leads",
                              "1 in the process that writes the feeds to Redis.")) {}

Projector::~Projector() { Stop(); }

void Projector::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void Projector::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (!thread_.joinable()) return;
  thread_.join();
  // Another takes over at once; when the store is away, when the lease has ended.
  projections_.ReleaseLease(steady_clock::now() + seconds(1), holder_).IgnoreError();
  leads_.Set(0);
}

void Projector::Loop() {
  bool failing = false;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    const Status looked = Look();
    if (!looked.ok() && !failing) {
      log::Warn("the projection of the feeds waits", {{"why", Message(looked)}});
    }
    failing = !looked.ok();
    lock.lock();
    wake_.wait_for(lock, options_.interval, [this] { return stopping_; });
  }
}

void Projector::Renew(const std::string& category) {
  const std::lock_guard lock(mutex_);
  renewed_.insert(category);
}

StatusOr<std::vector<std::string>> Projector::Categories(Deadline deadline) {
  CategoryQuery query;
  query.ns = kProjectedNamespace;
  query.page_size = kMostCategories;
  WINNOW_ASSIGN_OR_RETURN(const std::vector<Category> categories,
                          store_.ListCategories(deadline, query));
  std::vector<std::string> ids = {std::string(kAllFeed), std::string(kUncategorizedFeed)};
  for (const Category& category : categories) ids.push_back(category.id);
  return ids;
}

Status Projector::Look() {
  if (redis_.away()) return redis_.Check();
  const Deadline deadline = steady_clock::now() + kLookTime;
  const auto fence = projections_.TakeLease(deadline, holder_, options_.lease);
  leads_.Set(fence.ok() && *fence ? 1 : 0);
  if (!fence.ok()) {
    ExtendLives();
    return fence.status();
  }
  if (!*fence) {
    last_.clear();  // another writes now
    return OkStatus();
  }
  WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> categories, Categories(deadline));
  {
    const std::lock_guard lock(mutex_);
    for (const std::string& category : renewed_) last_.erase(category);
    renewed_.clear();
  }
  std::vector<Command> asks;
  for (const std::string& category : categories) {
    asks.push_back({"HGET", StateKeyOf(category), "position"});
  }
  WINNOW_ASSIGN_OR_RETURN(const std::vector<redis::Reply> there, redis_.Pipeline(deadline, asks));
  Status result;
  for (size_t i = 0; i < categories.size(); ++i) {
    const auto position = there[i].MaybeText();
    const Status done =
        position.ok() ? Project(deadline, categories[i], **fence, *position) : position.status();
    if (done.ok()) continue;
    failed_.Increment();
    result = done;
  }
  return result;
}

Status Projector::Project(Deadline deadline, const std::string& category, int64_t fence,
                          const std::optional<std::string>& position_in_redis) {
  FeedQuery query;
  query.ns = kProjectedNamespace;
  query.category = category;
  query.page_size = kProjectedArticles;
  query.scan_limit = kProjectedArticles + 1;
  WINNOW_ASSIGN_OR_RETURN(const FeedPage page, store_.ListArticles(deadline, query));
  if (page.epoch.empty()) return OkStatus();  // nobody has written anything yet
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
                     state.position - last->second.position < kMostBehind &&
                     position_in_redis == std::to_string(last->second.position);
  if (there) return OkStatus();
  const std::string feed = FeedName(kProjectedNamespace, category);
  const ProjectedFeed projected{state.position, state.epoch, ChecksumOf(state, bytes)};
  WINNOW_ASSIGN_OR_RETURN(const bool mine, projections_.Note(deadline, feed, projected, fence));
  if (!mine) {
    refused_.Increment();
    return OkStatus();
  }
  WINNOW_RETURN_IF_ERROR(Write(deadline, category, page, state, bytes));
  Written& written = last_[category];
  written = {content, state.position, now, {}};
  for (const ProjectedEntry& entry : state.entries) written.ids.push_back(entry.key.id);
  return OkStatus();
}

Status Projector::Write(Deadline deadline, const std::string& category, const FeedPage& page,
                        const ProjectionState& state, const std::vector<std::string>& bytes) {
  // Articles first: whoever sees them in the feed finds them.
  std::vector<Command> articles;
  for (size_t i = 0; i < page.articles.size(); ++i) {
    AppendArticle(page.articles[i], bytes[i], articles);
  }
  const std::string lock = LockKeyOf(category);
  articles.push_back({"SET", lock, holder_, "EX", std::to_string(kLockTtlSeconds)});
  WINNOW_ASSIGN_OR_RETURN(const std::vector<redis::Reply> kept,
                          redis_.Pipeline(deadline, articles));
  for (const redis::Reply& reply : kept) WINNOW_RETURN_IF_ERROR(reply.ToStatus());
  const SwapCall swap = MakeSwap(category, state);
  WINNOW_ASSIGN_OR_RETURN(const redis::Reply swapped,
                          redis_.Eval(deadline, SwapScript(), swap.keys, swap.arguments));
  WINNOW_ASSIGN_OR_RETURN(const int64_t mine, swapped.Integer());
  const bool stale = !page.created_at || clock_.Now() - *page.created_at >= options_.stale_after;
  std::vector<Command> meta;
  if (mine == 1) AppendMeta(category, state, FormatTime(clock_.Now()), stale, meta);
  meta.push_back({"DEL", lock});
  WINNOW_RETURN_IF_ERROR(redis_.Pipeline(deadline, meta).status());
  (mine == 1 ? written_ : refused_).Increment();
  return OkStatus();
}

// The store is away: readers of Redis go on with what was written last.
void Projector::ExtendLives() {
  if (last_.empty()) return;
  std::vector<Command> commands;
  for (const auto& [category, written] : last_) {
    for (const std::string& key :
         {FeedKeyOf(category), StateKeyOf(category), MetaKeyOf(category)}) {
      commands.push_back({"EXPIRE", key, std::to_string(kFeedTtlSeconds)});
    }
    for (const std::string& id : written.ids) {
      commands.push_back({"EXPIRE", ArticleKeyOf(id), std::to_string(kArticleTtlSeconds)});
    }
  }
  if (redis_.Pipeline(steady_clock::now() + seconds(5), commands).ok()) extended_.Increment();
}

}  // namespace winnow::newsfeed
