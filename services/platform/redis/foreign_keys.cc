#include "services/platform/redis/foreign_keys.h"

#include <utility>

#include "services/platform/process/log.h"

namespace winnow::redis {
namespace {

constexpr size_t kMaxParts = 10'000;
// Of more parts that are stopped at once only the count is reported.
constexpr size_t kMaxLogged = 20;

}  // namespace

ForeignKeys::ForeignKeys(std::string projection, std::string parts, std::string remedy,
                         Metrics& metrics)
    : projection_(std::move(projection)),
      parts_(std::move(parts)),
      remedy_(std::move(remedy)),
      gauge_(metrics.AddGauge(
          "winnow_redis_foreign_keys",
          "Keys of other programs that stop parts of a projection; the health probe redis_keys "
          "names one and the remedy.",
          {{"projection", projection_}}, [this] { return static_cast<double>(Count()); })) {}

void ForeignKeys::Report(const std::string& part, const std::vector<std::string>& keys) {
  if (keys.empty()) return;
  size_t stopped = 0;
  {
    const std::lock_guard lock(mutex_);
    const bool is_new = !stopped_.contains(part);
    if (is_new && stopped_.size() >= kMaxParts) return;
    stopped_[part] = {keys.front(), keys.size()};
    if (!is_new) return;
    stopped = stopped_.size();
  }
  if (stopped > kMaxLogged) return;
  log::Warn("Redis keys of another program: this part of the projection stops, the keys stay",
            {{"projection", projection_},
             {"part", part},
             {"keys", keys.size()},
             {"first_key", keys.front()},
             {"remedy", remedy_}});
}

void ForeignKeys::Clear(const std::string& part) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_.erase(part) == 0) return;
  }
  log::Info("no Redis key of another program is in the way any longer",
            {{"projection", projection_}, {"part", part}});
}

void ForeignKeys::KeepOnly(const std::set<std::string>& parts) {
  const std::lock_guard lock(mutex_);
  std::erase_if(stopped_, [&](const auto& entry) { return !parts.contains(entry.first); });
}

bool ForeignKeys::Stops(const std::string& part) const {
  const std::lock_guard lock(mutex_);
  return stopped_.contains(part);
}

size_t ForeignKeys::Count() const {
  const std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const auto& [part, stopped] : stopped_) count += stopped.keys;
  return count;
}

Status ForeignKeys::Check() const {
  const size_t count = Count();
  const std::lock_guard lock(mutex_);
  if (stopped_.empty()) return OkStatus();
  return FailedPrecondition(
      "Redis key " + stopped_.begin()->second.first_key +
      (count > 1 ? " and " + std::to_string(count - 1) + " more belong" : std::string(" belongs")) +
      " to another program: the projection of " + std::to_string(stopped_.size()) + " " + parts_ +
      " has stopped and leaves them unchanged. " + remedy_);
}

}  // namespace winnow::redis
