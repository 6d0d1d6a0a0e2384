// How the registry comes back. Workers that die: from the end of their leases to the next worker.
// Workers that live: heartbeats a third of a lease apart beside twice as many claims as the machine
// has cores, and how many leases were lost. Redis flushed: until the view is whole again, and
// claims meanwhile. Usage: bench_polling_recovery [JOBS], default 100,000 in the view.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "services/platform/postgres/log/sequencer.h"
#include "services/platform/postgres/server/private_postgres.h"
#include "services/platform/proto/timestamp.h"
#include "services/polling/leases/sweep_worker.h"
#include "services/polling/view/view_worker.h"
#include "tests/bench/polling/polling_parts.h"
#include "tests/support/process/temp_dir.h"
#include "tests/support/redis/redis.h"
#include "tests/support/sync/eventually.h"

namespace winnow::polling {
namespace {

using bench::Median;
using bench::OrExit;
using bench::Seconds;
using bench::Soon;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kDeadWorkers = 200;
constexpr int kLiveJobs = 1'024;
constexpr int kBeats = 20;
constexpr milliseconds kLease{3'000};
constexpr int kClaims = 2'000;  // before the first flush

void SetLease(Parts& parts, milliseconds lease) {
  parts.Execute("UPDATE polling.policies SET max_losses = 1000, lease_us = " +
                std::to_string(lease.count() * 1000));
}

std::vector<Job> ClaimMany(Parts& parts, int count) {
  std::vector<Job> all;
  while (std::ssize(all) < count) {
    const int most = std::min(100, count - static_cast<int>(all.size()));
    auto claimed = parts.store.Claim(Soon(), {"stt", "bench", most});
    OrExit(claimed.status());
    std::move(claimed->jobs.begin(), claimed->jobs.end(), std::back_inserter(all));
  }
  return all;
}

// By the store's times: of the first claim's end, and of the second claim.
void DeadWorkers(Parts& parts) {
  Fill(parts, kDeadWorkers, kDeadWorkers);
  SetLease(parts, kLease);
  SweepWorker worker(parts.store, parts.claims, parts.job_metrics, {});
  worker.Start();
  std::map<std::string, Time> lease_end;
  for (const Job& job : ClaimMany(parts, kDeadWorkers)) lease_end[job.key.id] = job.ready_time;
  std::vector<double> late;
  std::mutex mutex;
  const auto take = [&] {
    for (;;) {
      {
        const std::lock_guard lock(mutex);
        if (late.size() == kDeadWorkers) return;
      }
      v1::ClaimJobsRequest request;
      request.set_kind("stt");
      request.set_owner("alive");
      request.set_max_jobs(10);
      request.mutable_wait()->set_seconds(2);
      std::promise<StatusOr<v1::ClaimJobsResponse>> answer;
      parts.handlers.ClaimJobs(Call(), request, [&](StatusOr<v1::ClaimJobsResponse> claimed) {
        answer.set_value(std::move(claimed));
      });
      const auto claimed = answer.get_future().get();
      OrExit(claimed.status());
      const std::lock_guard lock(mutex);
      for (const v1::Job& job : claimed->jobs()) {
        const auto end = lease_end.find(job.id());
        if (end == lease_end.end()) continue;
        late.push_back(Seconds(*FromTimestamp(job.ready_time()) - kLease - end->second));
        lease_end.erase(end);
      }
    }
  };
  std::vector<std::thread> alive;
  for (int i = 0; i < 4; ++i) alive.emplace_back(take);
  for (std::thread& one : alive) one.join();
  worker.Stop();
  std::printf(
      "%d dead workers: claimed again %.3f s after the lease's end, at most %.3f s (bar 2)\n",
      kDeadWorkers, Median(late), *std::max_element(late.begin(), late.end()));
}

void LiveWorkers(Parts& parts) {
  Fill(parts, 20'000, 20'000);
  SetLease(parts, kLease);
  SweepWorker worker(parts.store, parts.claims, parts.job_metrics, {});
  const std::vector<Job> jobs = ClaimMany(parts, kLiveJobs);
  worker.Start();
  std::atomic<bool> stop = false;
  std::vector<std::thread> load;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) {
    load.emplace_back([&] {
      while (!stop) {
        const auto claimed = parts.store.Claim(Soon(), {"stt", "load", 10});
        OrExit(claimed.status());
        for (const Job& job : claimed->jobs) {
          OrExit(parts.store.Do(Soon(), job.key, command::Release{job.token}, "").status());
        }
      }
    });
  }
  std::vector<HeldJob> held;
  for (const Job& job : jobs) held.push_back({job.key.id, job.token});
  int64_t lost = 0;
  auto next = steady_clock::now();
  std::promise<void> ticks;  // never kept: passes time
  for (int i = 0; i < kBeats; ++i) {
    next += kLease / 3;
    ticks.get_future().wait_until(next);
    ticks = {};
    for (size_t at = 0; at < held.size(); at += 64) {
      const auto some = std::span(held).subspan(at, std::min<size_t>(64, held.size() - at));
      const auto beats = parts.store.Heartbeat(Soon(), "stt", some);
      OrExit(beats.status());
      lost += std::count_if(beats->begin(), beats->end(),
                            [](const HeartbeatResult& beat) { return beat.lost; });
    }
  }
  stop = true;
  for (std::thread& one : load) one.join();
  worker.Stop();
  std::printf("%d live jobs, %d heartbeats each under load: %lld leases lost (bar 0)\n", kLiveJobs,
              kBeats, static_cast<long long>(lost));
}

struct ViewParts {
  ViewParts(Parts& parts, const std::string& url)
      : client(Connect(parts.metrics)), logs({.name = "log", .url = url}, parts.metrics) {}
  std::unique_ptr<redis::Client> Connect(Metrics& metrics) {
    config::v1::Redis settings;
    settings.set_url(server.url());
    settings.set_connections(4);
    auto made = redis::Client::Make(settings, metrics);
    OrExit(made.status());
    return *std::move(made);
  }
  int64_t Shown() {
    const auto reply = client->Run(Soon(), {"ZCARD", "stt:polling:processing"});
    OrExit(reply.status());
    const auto count = reply->Integer();
    OrExit(count.status());
    return *count;
  }
  double AwaitAll(int jobs) {
    const auto begin = steady_clock::now();
    if (!test::Eventually([&] { return Shown() >= jobs; })) OrExit(Internal("no view in time"));
    return Seconds(steady_clock::now() - begin);
  }
  test::RedisServer server;
  std::unique_ptr<redis::Client> client;
  pg::Pool logs;
};

void FlushedRedis(Parts& parts, const std::string& url, int jobs) {
  SetLease(parts, std::chrono::hours(1));
  Fill(parts, jobs, jobs);
  ViewParts redis(parts, url);
  pg::Sequencer sequencer(redis.logs, EventSequence());
  ViewWorker view(parts.store, *redis.client, parts.metrics, ViewWorker::Options());
  sequencer.Start();
  view.Start();
  redis.AwaitAll(jobs);
  std::atomic<int> phase = 0;
  std::atomic<int> made = 0;
  std::vector<double> claims[2];
  std::thread worker([&] {
    for (int now = phase; now < 2; now = phase) {
      const auto begin = steady_clock::now();
      const auto claimed = parts.store.Claim(Soon(), {"stt", "bench", 1});
      OrExit(claimed.status());
      claims[now].push_back(Seconds(steady_clock::now() - begin));
      ++made;
    }
  });
  std::vector<double> rebuilt;
  if (!test::Eventually([&] { return made >= kClaims; })) OrExit(Internal("no claims in time"));
  phase = 1;
  for (int i = 0; i < 5; ++i) {
    OrExit(redis.client->Run(Soon(), {"FLUSHALL"}).status());
    rebuilt.push_back(redis.AwaitAll(jobs));
  }
  phase = 2;
  worker.join();
  view.Stop();
  sequencer.Stop();
  std::printf(
      "Redis flushed with %d jobs: the view is whole after %.2f s, at most %.2f s (bar 5); claims "
      "p99 %.2f ms before, %.2f ms meanwhile\n",
      jobs, Median(rebuilt), *std::max_element(rebuilt.begin(), rebuilt.end()),
      P99Millis(claims[0]), P99Millis(claims[1]));
}

void Run(int jobs) {
  test::TempDir dir("bench");
  pg::PrivatePostgresOptions options;
  options.data_dir = dir.path();
  auto server = pg::PrivatePostgres::Start(options);
  OrExit(server.status());
  const std::string url = (*server)->connection_url();
  Parts parts(url);
  parts.claims.Start();
  DeadWorkers(parts);
  LiveWorkers(parts);
  FlushedRedis(parts, url, jobs);
  parts.claims.Stop();
}

}  // namespace
}  // namespace winnow::polling

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? static_cast<int>(std::strtol(argv[1], nullptr, 10)) : 100'000;
  if (jobs < 1000) {
    std::fprintf(stderr, "usage: bench_polling_recovery [JOBS], at least 1000\n");
    return 2;
  }
  winnow::polling::Run(jobs);
  return 0;
}
