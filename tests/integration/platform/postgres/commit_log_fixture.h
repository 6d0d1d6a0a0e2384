#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "services/platform/postgres/log/log_transaction.h"
#include "services/platform/postgres/log/tailer.h"
#include "services/platform/process/metrics.h"
#include "tests/integration/platform/postgres/commit_log_table.h"
#include "tests/support/postgres/postgres.h"
#include "tests/support/sync/eventually.h"

namespace winnow::pg {

class CommitLogTest : public testing::Test {
 protected:
  static Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }

  CommitLogTest() {
    url_ = test::Postgres::Instance().NewDatabase("commit_log", [](const std::string& url) {
      Metrics metrics;
      Pool pool({.name = "setup", .url = url, .password = ""}, metrics);
      const Status made = MakeLogTable(pool, Soon());
      if (!made.ok()) throw std::runtime_error(Message(made));
    });
    pool_ = MakePool();
  }

  std::unique_ptr<Pool> MakePool(int connections = 4, const std::string& suffix = "") {
    const std::string name = "log" + std::to_string(++pools_);
    return std::make_unique<Pool>(
        PoolOptions{.name = name, .url = url_ + suffix, .password = "", .connections = connections},
        metrics_);
  }

  static Status Execute(Pool& pool, const std::string& sql) {
    return pool.Statements(Soon(), [&](Session& session) {
      session.ExecuteText(sql);
      return OkStatus();
    });
  }

  std::string url_;
  Metrics metrics_;
  int pools_ = 0;
  std::unique_ptr<Pool> pool_;
};

}  // namespace winnow::pg
