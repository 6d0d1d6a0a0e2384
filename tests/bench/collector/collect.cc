// One cycle of collection: Naver's 100 articles, whose pages are looked at for pictures on a slow
// local web, and NewsData's 10, which bring theirs; then the same again. The floor is the web's own
// time: pages / 10 at once * delay. Rounds on new databases, medians.
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "services/collector/runs/run_worker.h"
#include "services/platform/base/uuid.h"
#include "tests/bench/measure.h"
#include "tests/support/collector/collector.h"
#include "tests/support/http/fake_vendors.h"
#include "tests/support/process/test_platform.h"

namespace winnow::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kRounds = 5;
constexpr int kNaver = 100;
constexpr int kNewsData = 10;
constexpr milliseconds kDelay{100};
constexpr size_t kFiller = 20'000;  // bytes of a head before its picture

struct Cycle {
  double seconds = 0;
  int64_t items = 0;
  int64_t pages = 0;
};

collector::Credential CredentialOf(collector::Vendor vendor, const std::string& url) {
  collector::Credential credential;
  credential.name = collector::NameOf(vendor);
  credential.vendor = vendor;
  credential.base_url = url;
  credential.id = "id";
  credential.key = "key";
  credential.limits = {.per_second = 100, .per_quarter = 0, .per_day = 1'000'000};
  return credential;
}

collector::Source SourceOf(collector::SourceKind kind, collector::Vendor vendor) {
  collector::Source source;
  source.id = collector::NameOf(kind);
  source.kind = kind;
  source.credential = collector::NameOf(vendor);
  source.query = "news";
  Violations violations;
  collector::AcceptSource(source, "source", violations);
  OrExit(violations.ToStatus());
  return source;
}

Cycle RunOnce(collector::RunWorker& runner, const std::vector<collector::Source>& sources) {
  const auto begin = steady_clock::now();
  Cycle cycle;
  for (const collector::Source& source : sources) {
    collector::Claim claim;
    claim.source = source;
    claim.source.run_id = NewUuidV7(SystemClock().Now());
    claim.begin_time = SystemClock().Now();
    const collector::RunWorker::Report report = runner.Execute(claim, {});
    if (report.run.outcome != collector::Outcome::kOk) {
      OrExit(Internal("a run ended " + std::string(collector::NameOf(report.run.outcome))));
    }
    cycle.items += report.run.new_items;
    cycle.pages += report.run.fetched_pages;
  }
  cycle.seconds = Seconds(steady_clock::now() - begin);
  return cycle;
}

void Round(std::vector<double>& first, std::vector<double>& second) {
  test::FakeWeb web(kFiller, kDelay);
  test::FakeNaver naver(kNaver, web.address());
  test::FakeNewsData newsdata(1, kNewsData);
  test::TestPlatform platform(test::NewCollectorDatabase());
  Platform& parts = platform.parts();
  const std::vector<collector::Credential> credentials = {
      CredentialOf(collector::Vendor::kNaver, naver.server().Url("/naver")),
      CredentialOf(collector::Vendor::kNewsData, newsdata.server().Url("/newsdata"))};
  collector::ItemStore items(parts.reads, parts.writes);
  collector::QuotaStore quotas(parts.reads, parts.writes);
  collector::LedgerClient ledger(credentials, quotas, parts.clock, parts.metrics);
  ledger.TakeOver(parts.clock.Now());
  http::ClientOptions options;
  options.name = "bench";
  options.allow = {naver.address(), newsdata.address(), web.address()};
  http::Client client(options, parts.metrics);
  collector::ImageClient images(client, quotas, parts.metrics, {});
  collector::RunWorker runner({items, ledger, credentials, client, images, parts.clock, nullptr,
                               std::chrono::seconds(10), std::chrono::seconds(20)});
  const std::vector<collector::Source> sources = {
      SourceOf(collector::SourceKind::kNaver, collector::Vendor::kNaver),
      SourceOf(collector::SourceKind::kNewsData, collector::Vendor::kNewsData)};
  const Cycle cycle = RunOnce(runner, sources);
  const Cycle again = RunOnce(runner, sources);
  std::printf("  first %.2f s: %lld items, %lld pages; again %.2f s: %lld items, %lld pages\n",
              cycle.seconds, static_cast<long long>(cycle.items),
              static_cast<long long>(cycle.pages), again.seconds,
              static_cast<long long>(again.items), static_cast<long long>(again.pages));
  first.push_back(cycle.seconds);
  second.push_back(again.seconds);
}

}  // namespace
}  // namespace winnow::bench

int main() {
  using namespace winnow::bench;
  std::vector<double> first;
  std::vector<double> second;
  for (int round = 0; round < kRounds; ++round) Round(first, second);
  const double floor = kNaver / 10.0 * Seconds(kDelay);
  std::printf("cycle of %d articles: %.2f s (bar 2 s), %.2fx its web's own %.2f s; again: %.2f s\n",
              kNaver + kNewsData, Median(first), Median(first) / floor, floor, Median(second));
  return 0;
}
