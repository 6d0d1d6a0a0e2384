#include "services/app/import/redis/redis_source.h"

#include <vector>

namespace winnow::app {
namespace {

constexpr int kMaxScans = 100'000;

// What SCAN's pattern takes for itself is escaped.
std::string PatternOf(const std::string& prefix) {
  std::string pattern;
  for (const char c : prefix) {
    if (c == '*' || c == '?' || c == '[' || c == ']' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern + "*";
}

}  // namespace

StatusOr<std::unique_ptr<redis::Client>> OpenRedis(const RedisSource& source, Metrics& metrics) {
  config::v1::Redis settings;
  settings.set_url(source.url);
  settings.set_password_file(source.password_file);
  settings.set_connections(1);
  return redis::Client::Make(settings, metrics);
}

Deadline RedisDeadline() { return std::chrono::steady_clock::now() + std::chrono::seconds(10); }

Status ForEachRedisKey(redis::Client& redis, const std::string& prefix,
                       FunctionRef<void(const std::string& key)> take) {
  const std::string pattern = PatternOf(prefix);
  std::string cursor = "0";
  for (int scans = 0; scans < kMaxScans; ++scans) {
    WINNOW_ASSIGN_OR_RETURN(
        const redis::Reply reply,
        redis.Run(RedisDeadline(), {"SCAN", cursor, "MATCH", pattern, "COUNT", "1000"}));
    const redis::Reply::Array* parts = reply.items();
    if (parts == nullptr || parts->size() != 2) return Internal("SCAN answered no cursor");
    WINNOW_ASSIGN_OR_RETURN(cursor, (*parts)[0].Text());
    WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> keys, (*parts)[1].Texts());
    for (const std::string& key : keys) take(key);
    if (cursor == "0") return OkStatus();
  }
  return FailedPrecondition("that Redis has over 100,000,000 keys: too many to look at");
}

}  // namespace winnow::app
