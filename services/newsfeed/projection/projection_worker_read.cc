
#include "services/newsfeed/feed/article_codec.h"
#include "services/newsfeed/projection/projection_client.h"
#include "services/newsfeed/projection/projection_worker.h"
#include "services/platform/base/base64url.h"

// A cold feed out of Redis. What the store noted when it was written decides whether it is whole:
// Redis may have lost, mixed up, or made up anything.
namespace winnow::newsfeed {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kReadTime(300);

// Bytes of the entries' articles; nothing when one is missing, or was not written by Winnow.
std::optional<std::vector<std::string>> ReadArticles(redis::Client& redis, Deadline deadline,
                                                     const ProjectionState& state) {
  std::vector<redis::Command> commands;
  for (const ProjectedEntry& entry : state.entries) {
    commands.push_back({"HGET", ArticleKeyOf(entry.key.id), kWireField});
  }
  const auto replies = redis.Pipeline(deadline, commands);
  if (!replies.ok()) return std::nullopt;
  std::vector<std::string> bytes;
  for (const redis::Reply& reply : *replies) {
    const auto text = reply.Text();
    if (!text.ok()) return std::nullopt;
    auto article = DecodeBase64Url(*text);
    if (!article) return std::nullopt;
    bytes.push_back(*std::move(article));
  }
  return bytes;
}

}  // namespace

std::optional<FeedFill> ProjectionWorker::Read(const std::string& ns, const std::string& category) {
  if (ns != kProjectedNamespace || redis_.away()) return std::nullopt;
  const Deadline deadline = steady_clock::now() + kReadTime;
  const auto reply = redis_.Run(deadline, {"HGETALL", StateKeyOf(category)});
  if (!reply.ok()) return std::nullopt;
  const auto fields = reply->Pairs();
  if (!fields.ok() || fields->empty()) return std::nullopt;
  const std::optional<ProjectionState> state = ReadState(*fields);
  if (!state || state->epoch.empty()) return std::nullopt;
  const auto bytes = ReadArticles(redis_, deadline, *state);
  if (!bytes) return std::nullopt;
  const auto noted = projections_.Find(deadline, FeedName(ns, category));
  if (!noted.ok() || !*noted || (*noted)->position != state->position ||
      (*noted)->checksum != ProjectionChecksum(*state, {bytes->begin(), bytes->end()})) {
    return std::nullopt;
  }
  FeedFill fill;
  fill.ns = ns;
  fill.whole = state->whole;
  fill.position = state->position;
  fill.epoch = state->epoch;
  fill.source = FillSource::kRedis;
  for (size_t i = 0; i < bytes->size(); ++i) {
    auto article = Decode((*bytes)[i]);
    if (article == nullptr) return std::nullopt;
    fill.entries.push_back({state->entries[i].key, state->entries[i].seq, std::move(article)});
  }
  return fill;
}

}  // namespace winnow::newsfeed
