#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "services/polling/jobs/job_sql.h"
#include "services/polling/jobs/job_store.h"
#include "tests/support/postgres/postgres.h"
#include "tests/support/sync/eventually.h"

namespace winnow::polling {

// A store on a new database, by a clock that the test sets: polling.now() reads it from a table.
class PollingTest : public ::testing::Test {
 protected:
  static Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }

  static std::string NewDatabase() {
    return test::Postgres::Instance().NewDatabase("polling", [](const std::string& url) {
      Metrics metrics;
      pg::Pool pool({.name = "setup", .url = url}, metrics);
      const Status migrated = pg::Migrate(pool, StoreMigrations(), Soon());
      if (!migrated.ok()) throw std::runtime_error(Message(migrated));
    });
  }

  void SetUp() override {
    Sql("CREATE TABLE polling.test_clock AS SELECT '2026-01-30T00:00:00Z'::timestamptz AS now");
    Sql("CREATE OR REPLACE FUNCTION polling.now() RETURNS timestamptz LANGUAGE sql VOLATILE "
        "AS 'SELECT now FROM polling.test_clock'");
  }

  void Sql(const std::string& sql) {
    const Status done = writes_.Statements(Soon(), [&](pg::Session& session) {
      session.ExecuteText(sql);
      return OkStatus();
    });
    ASSERT_TRUE(done.ok()) << done;
  }
  int64_t Number(const std::string& sql) {
    const auto number = writes_.Statements(Soon(), [&](pg::Session& session) -> StatusOr<int64_t> {
      return session.ExecuteText(sql)[0][0].as<int64_t>();
    });
    EXPECT_TRUE(number.ok()) << number.status();
    return number.ok() ? *number : -1;
  }

  void SetTime(Time now) {
    now_ = now;
    Sql("UPDATE polling.test_clock SET now = '" + pg::ToParameter(now) + "'");
  }
  void Pass(Micros time) { SetTime(now_ + time); }

  void Register(const std::string& id, Micros delay = Micros(0)) {
    const NewJob job{id, "", "payload of " + id, delay};
    const auto made = store_.Register(Soon(), "stt", {&job, 1}, "");
    ASSERT_TRUE(made.ok() && (*made)[0].ok()) << made.status();
  }
  std::vector<Job> Claim(const std::string& owner, int count = 1) {
    const auto claimed = store_.Claim(Soon(), {"stt", owner, count});
    EXPECT_TRUE(claimed.ok()) << claimed.status();
    return claimed.ok() ? claimed->jobs : std::vector<Job>();
  }
  Job Get(const std::string& id) {
    const auto job = store_.Get(Soon(), {"stt", id});
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? *job : Job();
  }

  const std::string url_ = NewDatabase();
  Time now_ = std::chrono::sys_days(std::chrono::year(2026) / 1 / 30);
  Metrics metrics_;
  pg::Pool reads_{{.name = "read", .url = url_}, metrics_};
  pg::Pool writes_{{.name = "write", .url = url_}, metrics_};
  JobStore store_{reads_, writes_};
};

}  // namespace winnow::polling
