#include <array>
#include <chrono>
#include <set>
#include <utility>

#include "services/platform/base/url/listen_address.h"
#include "services/platform/config/config.h"
#include "services/platform/config/config_collector.h"
#include "services/platform/events/amqp/amqp_connection.h"
#include "services/platform/http/client.h"
#include "services/platform/postgres/session/connection_settings.h"
#include "services/platform/process/log.h"
#include "services/platform/proto/timestamp.h"
#include "services/platform/redis/address.h"

namespace winnow {
namespace {

using config::v1::Config;
using google::protobuf::Duration;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::array<std::string_view, 5> kTargets = {"collector", "dedup", "newsfeed",
                                                      "classification", "polling"};
constexpr int64_t kTebibyte = int64_t{1} << 40;
constexpr std::string_view kPrivate = "postgres-private:";

bool IsPostgresUrl(std::string_view url) {
  return url.starts_with("postgres://") || url.starts_with("postgresql://");
}
bool IsAmqpUrl(std::string_view url) {
  return url.starts_with("amqp://") || url.starts_with("amqps://");
}

// What stands between "://" and the first '/' or '?', e.g. "user:password@host".
std::string_view AuthorityOf(std::string_view url) {
  const size_t begin = std::min(url.find("://"), url.size() - 3) + 3;
  return url.substr(begin, url.find_first_of("/?", begin) - begin);
}

bool HasPassword(std::string_view url) {
  const std::string_view authority = AuthorityOf(url);
  const size_t at = authority.rfind('@');
  const bool in_user =
      at != std::string_view::npos && authority.substr(0, at).find(':') != std::string_view::npos;
  const size_t query = url.find('?');
  return in_user || (query != std::string_view::npos &&
                     url.find("password=", query) != std::string_view::npos);
}

// "1s", "0.5s"
std::string Text(const Duration& duration) {
  std::string text = std::to_string(duration.seconds());
  if (duration.nanos() != 0) {
    std::string fraction = std::to_string(1'000'000'000 + std::abs(duration.nanos())).substr(1);
    text += "." + fraction.substr(0, fraction.find_last_not_of('0') + 1);
  }
  return text + "s";
}

// Every rule that config.proto states, by section.
class Checker {
 public:
  explicit Checker(const Config& config) : config_(config) {}

  Status Run() {
    CheckCollector(config_.collector(), violations_);
    CheckTargets();
    CheckListen();
    CheckTls();
    CheckPostgres();
    CheckRedis();
    CheckEvents();
    CheckPeers();
    CheckLog();
    CheckCalls();
    CheckDedup();
    CheckClassification();
    CheckNewsFeed();
    return violations_.ToStatus();
  }

 private:
  void Add(std::string field, std::string description) {
    violations_.Add(std::move(field), std::move(description));
  }

  // As a violation of `field`, whatever maker it comes from.
  void AddStatus(const std::string& field, const Status& status) {
    if (status.ok()) return;
    const auto found = ViolationsOf(status);
    Add(field, found.empty() ? Message(status) : found.front().description);
  }

  void CheckRange(const std::string& field, int64_t value, int64_t least, int64_t most) {
    if (value >= least && value <= most) return;
    Add(field, "must be " + std::to_string(least) + " to " + std::to_string(most) + ", not " +
                   std::to_string(value));
  }

  void CheckDuration(const std::string& field, const Duration& value, seconds least, seconds most) {
    const auto duration = FromDuration(value);
    if (duration.ok() && *duration >= least && *duration <= most) return;
    Add(field, "must be " + std::to_string(least.count()) + "s to " + std::to_string(most.count()) +
                   "s, not " + Text(value));
  }

  // Whether this process runs all targets, by "all" or by their names.
  bool RunsAll() const {
    const std::set<std::string> targets(config_.targets().begin(), config_.targets().end());
    return targets.contains("all") || targets.size() >= kTargets.size();
  }

  void CheckTargets() {
    std::set<std::string> seen;
    for (int i = 0; i < config_.targets_size(); ++i) {
      const std::string& target = config_.targets(i);
      const std::string field = "targets[" + std::to_string(i) + "]";
      const bool known =
          target == "all" || std::find(kTargets.begin(), kTargets.end(), target) != kTargets.end();
      if (!known) {
        Add(field, "must be all, collector, dedup, newsfeed, classification or polling, not \"" +
                       target + "\"");
      } else if (!seen.insert(target).second) {
        Add(field, "is listed twice: keep one");
      }
    }
    if (config_.targets().empty()) Add("targets", "is empty: list what to run, or \"all\"");
    if (seen.contains("all") && config_.targets_size() > 1) {
      Add("targets", "has \"all\" beside others: keep \"all\" alone, or leave it out");
    }
  }

  // Listening beyond loopback without TLS takes an explicit setting.
  void CheckReach(const std::string& field, const ListenAddress& address) {
    if (address.IsLoopback() || config_.insecure() || !config_.tls().cert_file().empty()) return;
    Add(field,
        "listens beyond this machine without TLS: set tls, listen on 127.0.0.1, or say "
        "insecure: true (--insecure) where a mesh encrypts");
  }

  void CheckListen() {
    const auto listen = ParseListenAddress(config_.listen(), "listen");
    AddStatus("listen", listen.status());
    if (listen.ok()) CheckReach("listen", *listen);
    if (config_.metrics().listen() == "off") return;
    const auto metrics = ParseListenAddress(config_.metrics().listen(), "metrics.listen");
    if (!metrics.ok()) {
      Add("metrics.listen",
          ViolationsOf(metrics.status()).at(0).description + "; or \"off\" for none");
      return;
    }
    if (!metrics->IsLoopback() && !config_.insecure() && !config_.metrics().insecure()) {
      Add("metrics.listen",
          "is read in plain text beyond this machine: listen on 127.0.0.1, or say "
          "metrics.insecure: true");
    }
    if (listen.ok() && listen->port != 0 && listen->port == metrics->port &&
        listen->host == metrics->host) {
      Add("metrics.listen", "is the address of listen: give it a port of its own");
    }
  }

  void CheckTls() {
    const auto& tls = config_.tls();
    const bool cert = !tls.cert_file().empty();
    const bool key = !tls.key_file().empty();
    if (cert && !key) Add("tls.key_file", "is missing: tls.cert_file needs its private key");
    if (key && !cert) Add("tls.cert_file", "is missing: tls.key_file needs its certificate");
    if (!tls.client_ca_file().empty() && !cert && !key) {
      Add("tls.client_ca_file", "needs tls.cert_file and tls.key_file");
    }
  }

  void CheckPostgres() {
    const auto& postgres = config_.postgres();
    CheckRange("postgres.read_connections", postgres.read_connections(), 1, 100);
    CheckRange("postgres.write_connections", postgres.write_connections(), 1, 100);
    if (postgres.url() == kPrivate) return CheckPrivatePostgres();
    if (!IsPostgresUrl(postgres.url())) {
      return Add("postgres.url",
                 "must be postgres-private: or "
                 "postgres://USER@HOST:PORT/DATABASE");
    }
    if (HasPassword(postgres.url())) {
      Add("postgres.url",
          "holds a password: move it into a file and name it in "
          "postgres.password_file");
    }
    AddStatus("postgres.url", pg::ParseUrl(postgres.url(), "", "").status());
  }

  void CheckPrivatePostgres() {
    if (config_.data_dir().empty()) {
      Add("data_dir",
          "has no default because this user has no home: set it (--data-dir) to where "
          "the private PostgreSQL may keep its files");
    }
    if (!config_.postgres().password_file().empty()) {
      Add("postgres.password_file",
          "has no meaning with postgres-private:, which needs no "
          "password: leave it out");
    }
    if (!RunsAll()) {
      Add("postgres.url",
          "must be postgres:// when targets are in several processes: they need "
          "one store; or run \"all\"");
    }
  }

  void CheckRedis() {
    const auto& redis = config_.redis();
    CheckRange("redis.connections", redis.connections(), 1, 100);
    if (redis.url().empty()) {
      if (!redis.password_file().empty()) {
        Add("redis.password_file", "has no meaning without redis.url: set it or leave this out");
      }
      return;
    }
    if (HasPassword(redis.url())) {
      Add("redis.url", "holds a password: move it into a file and name it in redis.password_file");
    }
    AddStatus("redis.url", redis::ParseUrl(redis.url()).status());
  }

  void CheckEvents() {
    const auto& events = config_.events();
    CheckRange("events.max_deliveries", events.max_deliveries(), 1, 1'000);
    if (IsAmqpUrl(events.url())) {
      if (HasPassword(events.url())) {
        Add("events.url",
            "holds a password: move it into a file and name it in "
            "events.password_file");
      }
      AddStatus("events.url", events::ParseAmqpUrl(events.url()).status());
      if (!events.ca_file().empty() && !events.url().starts_with("amqps://")) {
        Add("events.ca_file", "has no meaning without TLS: use amqps:// or leave it out");
      }
      return;
    }
    if (events.url() != "inprocess:") {
      return Add("events.url", "must be inprocess: or amqp://USER@HOST:PORT/VHOST");
    }
    for (const auto& [field, value] : {std::pair{"events.password_file", events.password_file()},
                                       std::pair{"events.ca_file", events.ca_file()}}) {
      if (!value.empty()) Add(field, "has no meaning with inprocess: leave it out");
    }
    if (!RunsAll()) {
      Add("events.url",
          "must be amqp:// when targets are in several processes: inprocess: does "
          "not reach the others; or run \"all\"");
    }
  }

  void CheckPeers() {
    const auto& peers = config_.peers();
    CheckPeer("peers.collector", peers.collector());
    CheckPeer("peers.dedup", peers.dedup());
    CheckPeer("peers.newsfeed", peers.newsfeed());
    if (!peers.ca_file().empty() && RunsAll()) {
      Add("peers.ca_file", "has no meaning where all targets run in one process: leave it out");
    }
    if (RunsAll() || !peers.collector().empty()) return;
    for (const std::string& target : config_.targets()) {
      const bool reads_items = target == "dedup" || target == "newsfeed";
      const bool has_collector = std::find(config_.targets().begin(), config_.targets().end(),
                                           "collector") != config_.targets().end();
      if (!reads_items || has_collector) continue;
      return Add("peers.collector",
                 "is missing: " + target + " reads items from it; write its HOST:PORT");
    }
  }

  // Also with gRPC's resolver in front: dns:///HOST:PORT.
  void CheckPeer(const std::string& field, std::string_view address) {
    if (address.empty()) return;
    constexpr std::string_view kDns = "dns:///";
    if (address.starts_with(kDns)) address.remove_prefix(kDns.size());
    const auto parsed = ParseListenAddress(address, field);
    if (!parsed.ok() || parsed->port == 0) {
      Add(field, "must be HOST:PORT, e.g. \"collector:7400\", with a port from 1 to 65535");
    }
  }

  void CheckLog() { AddStatus("log.level", log::ParseLevel(config_.log().level()).status()); }

  void CheckCalls() {
    const auto& calls = config_.calls();
    CheckRange("calls.read_threads", calls.read_threads(), 1, 256);
    CheckRange("calls.write_threads", calls.write_threads(), 1, 256);
    CheckRange("calls.queue_limit", calls.queue_limit(), 1, 100'000);
    CheckDeadline(calls.default_deadline());
    CheckDuration("calls.drain_delay", calls.drain_delay(), seconds(0), minutes(1));
    CheckDuration("calls.drain_timeout", calls.drain_timeout(), seconds(0), minutes(10));
    CheckRange("calls.transport_memory_bytes", calls.transport_memory_bytes(), 128 << 20,
               kTebibyte);
    CheckRange("calls.stream_memory_bytes", calls.stream_memory_bytes(), 1 << 20, kTebibyte);
    // 0: derived from the limit on open files, when serving.
    CheckRange("calls.max_connections", calls.max_connections(), 0, 1'000'000);
    const int most = calls.max_connections() > 0 ? calls.max_connections() : 1'000'000;
    CheckRange("calls.max_connections_per_address", calls.max_connections_per_address(), 0, most);
    CheckDuration("calls.ingest_idle_timeout", calls.ingest_idle_timeout(), seconds(1), hours(1));
  }

  // Under 20 ms every call would be refused for want of time.
  void CheckDeadline(const Duration& value) {
    const auto deadline = FromDuration(value);
    if (deadline.ok() && *deadline >= std::chrono::milliseconds(100) && *deadline <= hours(1)) {
      return;
    }
    Add("calls.default_deadline", "must be 0.1s to 3600s, not " + Text(value));
  }

  void CheckDedup() {
    const auto& dedup = config_.dedup();
    CheckDuration("dedup.window", dedup.window(), minutes(1), hours(24 * 30));
    CheckRange("dedup.max_documents", dedup.max_documents(), 1'000, 100'000'000);
    // Written so that NaN is refused.
    const double threshold = dedup.token_threshold();
    if (!(threshold >= 0.1 && threshold <= 1)) {
      Add("dedup.token_threshold", "must be 0.1 to 1");
    }
    if (!(dedup.candidate_floor() >= 0.1 && dedup.candidate_floor() <= threshold)) {
      Add("dedup.candidate_floor", "must be 0.1 to dedup.token_threshold");
    }
  }

  void CheckClassification() {
    CheckDuration("classification.retention", config_.classification().retention(), hours(1),
                  hours(24 * 3653));
    const auto& llm = config_.classification().llm();
    const std::string at = "classification.llm.";
    if (!llm.url().empty()) AddStatus(at + "url", http::OriginOf(llm.url()).status());
    if (llm.url().empty() != llm.model().empty()) {
      Add(at + (llm.url().empty() ? "url" : "model"), "is missing: url and model go together");
    }
    if (llm.url().empty() && !llm.key_file().empty()) {
      Add(at + "key_file", "has no meaning without url and model");
    }
    CheckRange(at + "batch_size", llm.batch_size(), 1, 250);
    CheckRange(at + "concurrency", llm.concurrency(), 1, 64);
    CheckRange(at + "max_prompt_tokens", llm.max_prompt_tokens(), 100, 1'000'000);
    CheckRange(at + "max_output_tokens", llm.max_output_tokens(), 64, 1'000'000);
    CheckDuration(at + "timeout", llm.timeout(), seconds(1), minutes(10));
    CheckDuration(at + "patience", llm.patience(), seconds(1), hours(24));
    CheckRange(at + "input_price_micros", llm.input_price_micros(), 0, 1'000'000'000'000);
    CheckRange(at + "output_price_micros", llm.output_price_micros(), 0, 1'000'000'000'000);
  }

  void CheckNewsFeed() {
    const auto& newsfeed = config_.newsfeed();
    CheckDuration("newsfeed.max_future", newsfeed.max_future(), seconds(0), hours(24));
    CheckDuration("newsfeed.stale_after", newsfeed.stale_after(), minutes(1), hours(24 * 7));
    CheckRange("newsfeed.memory_articles", newsfeed.memory_articles(), 20, 10'000);
    CheckRange("newsfeed.memory_feeds", newsfeed.memory_feeds(), 1, 10'000);
  }

  const Config& config_;
  Violations violations_;
};

}  // namespace

Status CheckConfig(const config::v1::Config& config) { return Checker(config).Run(); }

}  // namespace winnow
