#include "services/platform/redis/client.h"

#include <openssl/evp.h>

#include <array>
#include <utility>

#include "services/platform/base/hash.h"
#include "services/platform/process/secret_file.h"
#include "services/platform/redis/errors.h"

namespace winnow::redis {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A wait at least this long that ends without an answer means that Redis stalls.
constexpr milliseconds kStall(200);
constexpr milliseconds kCheckTime(1'000);

std::string Sha1Hex(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  return Hex({reinterpret_cast<const char*>(digest.data()), size});
}

Histogram& Seconds(Metrics& metrics, const char* result) {
  return metrics.GetHistogram("winnow_redis_call_seconds",
                              "Time of calls to Redis, a pipeline being one.",
                              Metrics::LatencyBuckets(), {{"result", result}});
}

}  // namespace

Script::Script(std::string text) : text_(std::move(text)), sha1_(Sha1Hex(text_)) {}

Client::Client(PoolOptions options, Metrics& metrics)
    : pool_(std::move(options), metrics),
      commands_(metrics.GetCounter("winnow_redis_commands_total", "Commands sent to Redis.")),
      ok_seconds_(Seconds(metrics, "ok")),
      failed_seconds_(Seconds(metrics, "failed")),
      refused_(metrics.GetCounter("winnow_redis_refused_total",
                                  "Calls that failed immediately because Redis was unavailable.")) {
}

StatusOr<std::unique_ptr<Client>> Client::Make(const config::v1::Redis& settings,
                                               Metrics& metrics) {
  if (settings.url().empty()) return nullptr;
  PoolOptions options;
  WINNOW_ASSIGN_OR_RETURN(options.address, ParseUrl(settings.url()));
  if (!settings.password_file().empty()) {
    WINNOW_ASSIGN_OR_RETURN(options.address.password,
                            ReadSecretFile(settings.password_file(), "redis.password_file"));
  }
  options.connections = settings.connections();
  return std::make_unique<Client>(std::move(options), metrics);
}

StatusOr<std::vector<Reply>> Client::Pipeline(Deadline deadline,
                                              std::span<const Command> commands) {
  const auto start = steady_clock::now();
  if (deadline <= start) return DeadlineExceeded("no time was left to ask Redis");
  auto connection = pool_.Acquire(deadline);
  if (!connection.ok()) {
    if (ReasonOf(connection.status()) == Reason::kRedisUnavailable) refused_.Increment();
    return connection.status();
  }
  const auto sent = steady_clock::now();
  StatusOr<std::vector<Reply>> replies = (*connection)->Run(commands, deadline);
  const auto end = steady_clock::now();
  commands_.Increment(static_cast<double>(commands.size()));
  (replies.ok() ? ok_seconds_ : failed_seconds_)
      .Observe(std::chrono::duration<double>(end - start).count());
  if (replies.ok()) {
    pool_.Return(*std::move(connection));
  } else if (ReasonOf(replies.status()) == Reason::kDeadlineTooShort && end - sent < kStall) {
    pool_.Discard(*std::move(connection));
  } else {
    pool_.ReportLoss(*std::move(connection));
  }
  return replies;
}

StatusOr<Reply> Client::Run(Deadline deadline, Command command) {
  WINNOW_ASSIGN_OR_RETURN(std::vector<Reply> replies, Pipeline(deadline, std::span(&command, 1)));
  WINNOW_RETURN_IF_ERROR(replies.front().ToStatus());
  return std::move(replies.front());
}

StatusOr<Reply> Client::Eval(Deadline deadline, const Script& script,
                             std::span<const std::string> keys,
                             std::span<const std::string> arguments) {
  Command command{"EVALSHA", script.sha1(), std::to_string(keys.size())};
  command.insert(command.end(), keys.begin(), keys.end());
  command.insert(command.end(), arguments.begin(), arguments.end());
  WINNOW_ASSIGN_OR_RETURN(std::vector<Reply> replies, Pipeline(deadline, std::span(&command, 1)));
  const Reply::Error* error = replies.front().error();
  if (error == nullptr || !error->text.starts_with("NOSCRIPT")) {
    WINNOW_RETURN_IF_ERROR(replies.front().ToStatus());
    return std::move(replies.front());
  }
  command[0] = "EVAL";
  command[1] = script.text();
  return Run(deadline, std::move(command));
}

Status Client::Check() { return Run(steady_clock::now() + kCheckTime, {"PING"}).status(); }

}  // namespace winnow::redis
