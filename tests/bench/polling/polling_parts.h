#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "services/polling/api/handlers.h"
#include "tests/bench/measure.h"

// What the benchmarks of the registry share.
namespace winnow::polling {

struct Parts {
  explicit Parts(const std::string& url)
      : reads({.name = "read", .url = url}, metrics),
        writes({.name = "write", .url = url}, metrics) {
    bench::OrExit(pg::Migrate(writes, StoreMigrations(), bench::Soon()));
  }
  void Execute(const std::string& sql) {
    bench::OrExit(writes.Statements(std::chrono::steady_clock::now() + std::chrono::minutes(10),
                                    [&](pg::Session& session) {
                                      session.ExecuteText(sql);
                                      return OkStatus();
                                    }));
  }
  Metrics metrics;
  pg::Pool reads, writes;
  JobMetrics job_metrics{metrics};
  JobStore store{reads, writes};
  ClaimWorker claims{store, job_metrics};
  JobWatch watch{store};
  Handlers handlers{store, claims, watch, job_metrics};
};

inline rpc::CallContext Call() { return rpc::BackgroundCall(std::chrono::seconds(60)); }

// `due`: of all jobs, those that are due now; the others in an hour.
inline void Fill(Parts& parts, int jobs, int due) {
  parts.Execute("TRUNCATE polling.jobs, polling.job_events");
  parts.Execute(
      "INSERT INTO polling.jobs (kind, id, state, phase, payload, create_time, state_time, "
      "ready_time, entered, progressed) SELECT 'stt', 'job-' || n, 'processing', 1, "
      "convert_to(repeat('p', 200), 'UTF8'), now(), now(), now() + CASE WHEN n <= " +
      std::to_string(due) +
      " THEN interval '-1 s' ELSE interval '1 h' END, now(), now() FROM "
      "generate_series(1, " +
      std::to_string(jobs) + ") n");
  parts.Execute("VACUUM ANALYZE polling.jobs");
}

inline void MakeDue(Parts& parts) {
  parts.Execute(
      "UPDATE polling.jobs SET phase = 1, owner = '', ready_time = now() - interval '1 s' "
      "WHERE phase = 2");
}

inline double P99Millis(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() * 99 / 100] * 1e3;
}

}  // namespace winnow::polling
