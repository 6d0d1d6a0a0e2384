#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "services/platform/config/config.h"
#include "services/platform/proto/timestamp.h"

namespace winnow {
namespace {

using google::protobuf::Duration;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string Home() {
  if (std::string home = Environment("HOME"); home.starts_with('/')) return home;
  const passwd* entry = ::getpwuid(::geteuid());
  return entry == nullptr || entry->pw_dir == nullptr ? "" : entry->pw_dir;
}

// Empty when there is no home: the check then asks for the setting.
std::string DefaultDataDir() {
  if (::geteuid() == 0) return "/var/lib/winnow";
  // The XDG rules have relative paths ignored.
  if (std::string data = Environment("XDG_DATA_HOME"); data.starts_with('/')) {
    return data + "/winnow";
  }
  const std::string home = Home();
  return home.empty() ? "" : home + "/.local/share/winnow";
}

void Default(std::string& value, const std::string& by_default) {
  if (value.empty()) value = by_default;
}

template <typename Number>
Number Or(Number value, Number by_default) {
  return value == 0 ? by_default : value;
}

void Default(Duration& value, Micros by_default) {
  if (value.seconds() == 0 && value.nanos() == 0) value = ToDuration(by_default);
}

void FillPostgres(config::v1::Postgres& postgres) {
  Default(*postgres.mutable_url(), "postgres-private:");
  // Only this process can migrate a private one.
  if (postgres.url() == "postgres-private:") postgres.set_migrate_on_start(true);
}

void FillCalls(config::v1::Calls& calls) {
  calls.set_queue_limit(Or(calls.queue_limit(), 1'000));
  Default(*calls.mutable_default_deadline(), seconds(10));
  Default(*calls.mutable_drain_delay(), seconds(0));
  Default(*calls.mutable_drain_timeout(), seconds(10));
  Default(*calls.mutable_ingest_idle_timeout(), seconds(30));
}

void FillDedup(config::v1::Dedup& dedup) {
  Default(*dedup.mutable_window(), hours(24));
  dedup.set_token_threshold(Or(dedup.token_threshold(), 0.8));
  dedup.set_candidate_floor(Or(dedup.candidate_floor(), std::min(0.5, dedup.token_threshold())));
  if (!dedup.has_embedder() || dedup.embedder().url().empty()) return;
  config::v1::Embedder& embedder = *dedup.mutable_embedder();
  embedder.set_batch_size(Or(embedder.batch_size(), 16));
  Default(*embedder.mutable_timeout(), seconds(1));
  Default(*embedder.mutable_patience(), std::chrono::milliseconds(100));
}

void FillCredential(config::v1::Credential& credential) {
  const bool newsdata = credential.vendor() == "newsdata";
  const bool hub = credential.vendor() == "naver-hub";
  Default(*credential.mutable_base_url(),
          newsdata ? "https://newsdata.io/api/1/latest"
          : hub    ? "https://naverapihub.apigw.ntruss.com/search/v1/news"
                   : "https://openapi.naver.com/v1/search/news.json");
  credential.set_calls_per_second(Or(credential.calls_per_second(), newsdata ? 1 : 10));
  if (newsdata) credential.set_calls_per_quarter_hour(Or(credential.calls_per_quarter_hour(), 30));
  credential.set_calls_per_day(Or(credential.calls_per_day(), newsdata ? 200 : 25'000));
  // Naver's day begins at 00:00 in Korea.
  if (!credential.has_reset_time()) {
    *credential.mutable_reset_time() = ToDuration(hours(newsdata ? 0 : 15));
  }
}

void FillCollector(config::v1::Collector& collector) {
  Default(*collector.mutable_lease(), seconds(10));
  collector.set_run_threads(Or(collector.run_threads(), 4));
  Default(*collector.mutable_run_retention(), hours(24 * 7));
  Default(*collector.mutable_vendor_timeout(), seconds(10));
  Default(*collector.mutable_feed_timeout(), seconds(20));
  Default(*collector.mutable_page_timeout(), seconds(5));
  for (config::v1::Credential& credential : *collector.mutable_credentials()) {
    FillCredential(credential);
  }
}

void FillLanguageModel(config::v1::LanguageModel& llm) {
  Default(*llm.mutable_fallback_model(), "embedded");
  llm.set_batch_size(Or(llm.batch_size(), 16));
  llm.set_concurrency(Or(llm.concurrency(), 4));
  llm.set_max_prompt_tokens(Or(llm.max_prompt_tokens(), 6'000));
  llm.set_max_output_tokens(Or(llm.max_output_tokens(), 4'096));
  Default(*llm.mutable_timeout(), seconds(60));
  Default(*llm.mutable_patience(), minutes(10));
}

}  // namespace

std::vector<DerivedSetting> FillDefaults(config::v1::Config& config, const MachineLimits& limits) {
  if (config.targets().empty()) config.add_targets("all");
  Default(*config.mutable_listen(), "127.0.0.1:7400");
  if (config.data_dir().empty()) config.set_data_dir(DefaultDataDir());
  FillPostgres(*config.mutable_postgres());
  Default(*config.mutable_events()->mutable_url(), "inprocess:");
  config.mutable_redis()->set_connections(Or(config.redis().connections(), 4));
  config.mutable_events()->set_max_deliveries(Or(config.events().max_deliveries(), 20));
  Default(*config.mutable_log()->mutable_level(), "info");
  Default(*config.mutable_metrics()->mutable_listen(), "127.0.0.1:7490");
  FillCalls(*config.mutable_calls());
  FillCollector(*config.mutable_collector());
  FillDedup(*config.mutable_dedup());
  Default(*config.mutable_classification()->mutable_retention(), hours(24 * 30));
  FillLanguageModel(*config.mutable_classification()->mutable_llm());
  Default(*config.mutable_newsfeed()->mutable_max_future(), minutes(10));
  Default(*config.mutable_newsfeed()->mutable_stale_after(), minutes(10));
  return FillResourceDefaults(config, limits);
}

}  // namespace winnow
