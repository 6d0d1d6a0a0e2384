#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/newsfeed/articles.h"
#include "services/newsfeed/projection.h"
#include "services/platform/redis/client.h"

// The commands of a projection: how feeds and articles stand in Redis.
namespace winnow::newsfeed {

// Field of an article's hash with its message on the wire, beside those for other readers; in
// base64url, because they decode whatever they read as text.
inline constexpr char kWireField[] = "winnow";

// HSET and EXPIRE of news:article:{id}.
void AppendArticle(const StoredArticle& article, const std::string& bytes,
                   std::vector<redis::Command>& commands);
// HSET and EXPIRE of news:meta:{category}.
void AppendMeta(const std::string& category, const ProjectionState& state, const std::string& now,
                bool stale, std::vector<redis::Command>& commands);

// Replaces a feed and its state in one step, from a staging key; an empty feed is deleted. Answers
// 0, and changes nothing, when one of a greater fence has written.
const redis::Script& SwapScript();
struct SwapCall {
  std::vector<std::string> keys;
  std::vector<std::string> arguments;
};
SwapCall MakeSwap(const std::string& category, const ProjectionState& state);

// A state as the swap wrote it; nothing for anything else.
std::optional<ProjectionState> ReadState(
    const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace winnow::newsfeed
