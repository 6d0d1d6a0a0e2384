#include <algorithm>
#include <set>

#include "services/newsfeed/projection/projection_client.h"
#include "services/newsfeed/projection/projection_worker.h"
#include "services/platform/process/log.h"

// The projector's work beside writing feeds: keys that are adopted, articles that were deleted.
namespace winnow::newsfeed {
namespace {

// Under this name the store notes how far deletions were followed; names of feeds have a slash.
constexpr const char* kDeletions = "deletions";
// Positions of the log that one statement looks through, and how many statements a look makes.
constexpr int64_t kPositions = 10'000;
constexpr int kMaxSteps = 20;
// Positions noted at least so often when nothing was deleted.
constexpr int64_t kNoteEvery = 1'000;
// Positions that another history (a failover, a restore) may have used differently.
constexpr int64_t kRewind = 10'000;

}  // namespace

Status ProjectionWorker::AdoptKeys(Deadline deadline) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> categories, Categories(deadline));
  std::vector<redis::PublishedKey> keys;
  std::set<std::string> ids;
  for (const std::string& category : categories) {
    keys.push_back(PublishedFeed(category));
    keys.push_back(PublishedMeta(category));
    WINNOW_ASSIGN_OR_RETURN(const FeedPage page, ReadFeed(deadline, category));
    for (const StoredArticle& article : page.articles) ids.insert(article.content.id);
  }
  for (const std::string& id : ids) keys.push_back(PublishedArticle(id));
  WINNOW_ASSIGN_OR_RETURN(const size_t count, redis::Adopt(redis_, deadline, keys));
  adopted_ = true;
  log::Info("keys of other programs in Redis were given to the projection, which will replace them",
            {{"projection", "newsfeed"}, {"keys", count}, {"keys_checked", keys.size()}});
  return OkStatus();
}

Status ProjectionWorker::RemoveDeleted(Deadline deadline, int64_t fence) {
  if (!deletions_) {
    WINNOW_ASSIGN_OR_RETURN(deletions_, projections_.Find(deadline, kDeletions));
    noted_deletions_ = deletions_ ? deletions_->position : -kNoteEvery;
  }
  for (int i = 0; i < kMaxSteps; ++i) {
    const auto after = deletions_ ? std::optional(deletions_->position) : std::nullopt;
    WINNOW_ASSIGN_OR_RETURN(
        const Deletions found,
        projections_.ReadDeletions(deadline, std::string(kProjectedNamespace), after, kPositions));
    if (found.epoch.empty()) return OkStatus();  // the log is empty
    if (deletions_ && deletions_->epoch != found.epoch) {
      const int64_t known = std::min(deletions_->position, found.head);
      deletions_ = ProjectedFeed{std::max<int64_t>(0, known - kRewind), found.epoch, {}};
      continue;
    }
    std::vector<redis::ScriptCall> calls;
    for (const std::string& id : found.ids) calls.push_back(redis::CallOn(PublishedArticle(id)));
    WINNOW_ASSIGN_OR_RETURN(const std::vector<int64_t> removed,
                            redis::EvalAll(redis_, deadline, redis::RemoveScript(), calls));
    removed_.Increment(static_cast<double>(
        std::count_if(removed.begin(), removed.end(), [](int64_t count) { return count > 0; })));
    deletions_ = ProjectedFeed{found.until, found.epoch, {}};
    if (!found.ids.empty() || found.until - noted_deletions_ >= kNoteEvery) {
      WINNOW_RETURN_IF_ERROR(projections_.Note(deadline, kDeletions, *deletions_, fence).status());
      noted_deletions_ = found.until;
    }
    if (found.until == found.head) break;
  }
  return OkStatus();
}

}  // namespace winnow::newsfeed
