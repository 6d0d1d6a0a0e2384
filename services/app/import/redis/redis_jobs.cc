#include "services/app/import/redis/redis_jobs.h"

#include <cmath>
#include <cstdlib>

#include "services/app/import/redis/redis_source.h"
#include "services/platform/base/timestamp.h"

namespace winnow::app {
namespace {

// More than any set holds: a cursor that never ends is an error.
constexpr int64_t kMaxScans = 10'000'000;
constexpr double kMaxMilliseconds = 253'402'300'800'000.0;  // of year 10000

}  // namespace

StatusOr<std::string> RedisTypeOf(redis::Client& redis, const std::string& key) {
  WINNOW_ASSIGN_OR_RETURN(const redis::Reply reply, redis.Run(RedisDeadline(), {"TYPE", key}));
  return reply.Text();
}

StatusOr<int64_t> CountRedisJobs(redis::Client& redis, const std::string& key) {
  WINNOW_ASSIGN_OR_RETURN(const redis::Reply reply, redis.Run(RedisDeadline(), {"ZCARD", key}));
  return reply.Integer();
}

Status ForEachRedisJob(redis::Client& redis, const std::string& key,
                       FunctionRef<Status(std::vector<RedisJob> jobs)> take) {
  std::string cursor = "0";
  for (int64_t scans = 0; scans < kMaxScans; ++scans) {
    WINNOW_ASSIGN_OR_RETURN(const redis::Reply reply,
                            redis.Run(RedisDeadline(), {"ZSCAN", key, cursor, "COUNT", "500"}));
    const redis::Reply::Array* parts = reply.items();
    if (parts == nullptr || parts->size() != 2) return Internal("ZSCAN answered no cursor");
    WINNOW_ASSIGN_OR_RETURN(cursor, (*parts)[0].Text());
    WINNOW_ASSIGN_OR_RETURN(std::vector<RedisJob> jobs, (*parts)[1].Pairs());
    if (!jobs.empty()) WINNOW_RETURN_IF_ERROR(take(std::move(jobs)));
    if (cursor == "0") return OkStatus();
  }
  return FailedPrecondition(key + " does not end: is it a sorted set of jobs?");
}

std::optional<Time> TimeOfScore(const std::string& score) {
  char* end = nullptr;
  const double milliseconds = std::strtod(score.c_str(), &end);
  const bool is_number = !score.empty() && *end == '\0' && std::isfinite(milliseconds);
  if (!is_number || milliseconds < 0 || milliseconds >= kMaxMilliseconds) return std::nullopt;
  return Time(std::chrono::milliseconds(static_cast<int64_t>(milliseconds)));
}

}  // namespace winnow::app
