// The registry against its floors, in one run: ClaimJobs and HeartbeatJobs through the handler
// against the same work by a bare statement on the same tables. Rounds of floor, ours, floor again
// (the A/A control); medians. Then claims and a sweep with many jobs in flight.
// Usage: bench_polling [JOBS], default 1,000,000 in flight.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "services/platform/postgres/server/private_postgres.h"
#include "services/polling/leases/sweep_worker.h"
#include "tests/bench/polling/polling_parts.h"
#include "tests/support/process/temp_dir.h"

namespace winnow::polling {
namespace {

using bench::Median;
using bench::OrExit;
using bench::Seconds;
using bench::Soon;
using std::chrono::steady_clock;

constexpr int kRounds = 7;
constexpr int kBatch = 64;
constexpr int kCalls = 150;  // a leg

constexpr pg::Statement kBareClaim{
    "bench.claim",
    "UPDATE polling.jobs j SET phase = 2, token = nextval('polling.tokens'), owner = $1, "
    "ready_time = clock_timestamp() + interval '30 s' FROM (SELECT kind, id FROM polling.jobs "
    "  WHERE kind = 'stt' AND phase <= 2 AND ready_time <= (SELECT clock_timestamp()) "
    "  ORDER BY ready_time, id LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED) d "
    "WHERE j.kind = d.kind AND j.id = d.id RETURNING j.id, j.token, j.payload, j.state"};
constexpr pg::Statement kBareBeat{
    "bench.heartbeat",
    "UPDATE polling.jobs j SET ready_time = clock_timestamp() + interval '30 s' "
    "FROM unnest($1::text[], $2::bigint[]) AS u(id, token) WHERE j.kind = 'stt' AND j.id = u.id "
    "AND j.token = u.token AND j.phase = 2 RETURNING j.id"};

double ClaimByHandler(Parts& parts) {
  v1::ClaimJobsRequest request;
  request.set_kind("stt");
  request.set_owner("bench");
  request.set_max_jobs(kBatch);
  const auto begin = steady_clock::now();
  for (int i = 0; i < kCalls; ++i) {
    parts.handlers.ClaimJobs(Call(), request, [](const StatusOr<v1::ClaimJobsResponse>& answer) {
      OrExit(answer.status());
      if (answer->jobs_size() != kBatch) OrExit(Internal("a claim was not full"));
    });
  }
  return Seconds(steady_clock::now() - begin);
}

double ClaimBare(Parts& parts) {
  const auto begin = steady_clock::now();
  for (int i = 0; i < kCalls; ++i) {
    OrExit(parts.writes.Statements(Soon(), [&](pg::Session& session) {
      const bool full = session.Execute(kBareClaim, "bench", kBatch).size() == kBatch;
      return full ? OkStatus() : Internal("a bare claim was not full");
    }));
  }
  return Seconds(steady_clock::now() - begin);
}

std::vector<Job> Leased(Parts& parts) {
  const auto claimed = parts.store.Claim(Soon(), {"stt", "bench", kBatch});
  OrExit(claimed.status());
  return claimed->jobs;
}

double BeatByHandler(Parts& parts, const std::vector<Job>& jobs) {
  v1::HeartbeatJobsRequest request;
  request.set_kind("stt");
  for (const Job& job : jobs) {
    v1::HeldJob& held = *request.add_jobs();
    held.set_id(job.key.id);
    held.set_token(job.token);
  }
  const auto begin = steady_clock::now();
  for (int i = 0; i < kCalls; ++i) {
    OrExit(parts.handlers.HeartbeatJobs(Call(), request).status());
  }
  return Seconds(steady_clock::now() - begin);
}

double BeatBare(Parts& parts, const std::vector<Job>& jobs) {
  pg::Array ids, tokens;
  for (const Job& job : jobs) {
    ids.Add(job.key.id);
    tokens.Add(job.token);
  }
  const auto begin = steady_clock::now();
  for (int i = 0; i < kCalls; ++i) {
    OrExit(parts.writes.Statements(Soon(), [&](pg::Session& session) {
      session.Execute(kBareBeat, ids, tokens);
      return OkStatus();
    }));
  }
  return Seconds(steady_clock::now() - begin);
}

template <class Bare, class Ours>
void Compare(const char* what, Bare bare, Ours ours) {
  std::vector<double> before, middle, after;
  for (int round = 0; round < kRounds; ++round) {
    before.push_back(bare());
    middle.push_back(ours());
    after.push_back(bare());
  }
  const double floor = Median(before);
  std::printf("%-22s %8.0f jobs/s, bare %8.0f: %.2fx; A/A %.2fx\n", what,
              kBatch * kCalls / Median(middle), kBatch * kCalls / floor, floor / Median(middle),
              floor / Median(after));
}

// Claims of one job each, until `done`, at least `least`.
std::vector<double> ClaimLatencies(Parts& parts, int least, const std::function<bool()>& done) {
  std::vector<double> seconds;
  while (std::ssize(seconds) < least || !done()) {
    const auto begin = steady_clock::now();
    OrExit(parts.store.Claim(Soon(), {"stt", "bench", 1}).status());
    seconds.push_back(Seconds(steady_clock::now() - begin));
  }
  return seconds;
}

void ManyInFlight(Parts& parts, int jobs) {
  Fill(parts, jobs, jobs / 10);
  const auto alone = ClaimLatencies(parts, 2000, [] { return true; });
  std::printf("%d in flight: claim p99 %.2f ms\n", jobs, P99Millis(alone));
  const int stale = jobs / 10;
  parts.Execute(
      "UPDATE polling.jobs SET entered = now() - interval '2 h' WHERE id IN (SELECT id "
      "FROM polling.jobs WHERE phase = 1 AND ready_time > now() LIMIT " +
      std::to_string(stale) + ")");
  parts.Execute("VACUUM ANALYZE polling.jobs");
  SweepWorker worker(parts.store, parts.claims, parts.job_metrics, {});
  std::atomic<bool> swept = false;
  double took = 0;
  std::thread sweep([&] {
    const auto begin = steady_clock::now();
    OrExit(worker.SweepAll());
    took = Seconds(steady_clock::now() - begin);
    swept = true;
  });
  const auto beside = ClaimLatencies(parts, 1, [&] { return swept.load(); });
  sweep.join();
  std::printf("sweep of %d: %.1f s; claims beside it p99 %.2f ms (%.1fx)\n", stale, took,
              P99Millis(beside), P99Millis(beside) / P99Millis(alone));
}

void Run(int jobs) {
  test::TempDir dir("bench");
  pg::PrivatePostgresOptions options;
  options.data_dir = dir.path();
  auto server = pg::PrivatePostgres::Start(options);
  OrExit(server.status());
  Parts parts((*server)->connection_url());
  const int due = kBatch * kCalls;
  Fill(parts, due * 2, due);
  Compare(
      "ClaimJobs, batch 64",
      [&] {
        MakeDue(parts);
        return ClaimBare(parts);
      },
      [&] {
        MakeDue(parts);
        return ClaimByHandler(parts);
      });
  MakeDue(parts);
  const std::vector<Job> leased = Leased(parts);
  Compare(
      "HeartbeatJobs, batch 64", [&] { return BeatBare(parts, leased); },
      [&] { return BeatByHandler(parts, leased); });
  ManyInFlight(parts, jobs);
}

}  // namespace
}  // namespace winnow::polling

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? static_cast<int>(std::strtol(argv[1], nullptr, 10)) : 1'000'000;
  if (jobs < 1000) {
    std::fprintf(stderr, "usage: bench_polling [JOBS], at least 1000\n");
    return 2;
  }
  winnow::polling::Run(jobs);
  return 0;
}
