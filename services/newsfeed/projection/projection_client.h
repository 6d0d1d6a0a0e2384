#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/newsfeed/articles/article.h"
#include "services/newsfeed/projection/projection.h"
#include "services/platform/redis/client.h"
#include "services/platform/redis/ownership.h"

// The commands of a projection: how feeds and articles stand in Redis.
namespace winnow::newsfeed {

// Field of an article's hash with its message on the wire, beside those for other readers; in
// base64url, because they decode whatever they read as text.
inline constexpr char kWireField[] = "winnow";

// The published keys, and what recognises those of builds that kept no record of ownership.
redis::PublishedKey PublishedFeed(const std::string& category);
redis::PublishedKey PublishedMeta(const std::string& category);
redis::PublishedKey PublishedArticle(const std::string& id);

// Each script answers redis::kForeign, and changes nothing, for a key of another program.
// Replaces the hash news:article:{id} or news:meta:{category}.
const redis::Script& ReplaceHashScript();
redis::ScriptCall MakeArticle(const StoredArticle& article, const std::string& bytes);
redis::ScriptCall MakeMeta(const std::string& category, const ProjectionState& state,
                           const std::string& now, bool stale);

// Replaces a feed and its state in one step, from a staging key; an empty feed is deleted. Answers
// 0, and changes nothing, when one of a greater fence has written.
const redis::Script& SwapScript();
redis::ScriptCall MakeSwap(const std::string& category, const ProjectionState& state);

// Takes news:lock:{category} as the published design does; 0 while another program holds it. The
// second gives back what the holder still has. Values of ours begin with "winnow:".
const redis::Script& LockScript();
const redis::Script& UnlockScript();

// A state as the swap wrote it; nothing for anything else.
std::optional<ProjectionState> ReadState(
    const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace winnow::newsfeed
