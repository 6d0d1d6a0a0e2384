#include "tests/support/collector/collector.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>

#include "services/collector/service.h"
#include "services/platform/postgres/schema/migrate.h"
#include "tests/support/postgres/postgres.h"

namespace winnow::test {
namespace {

Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }

void OrThrow(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

}  // namespace

std::string NewCollectorDatabase() {
  return Postgres::Instance().NewDatabase("collector", [](const std::string& url) {
    Metrics metrics;
    pg::Pool pool({.name = "migrate", .url = url, .password = "", .connections = 1}, metrics);
    OrThrow(pg::Migrate(pool, collector::CollectorMigrations(), Soon()));
  });
}

collector::Item AcceptedItem(int number, const std::string& channel) {
  collector::Item item;
  item.channel = channel;
  item.title = "Title " + std::to_string(number);
  item.url = "https://example.com/" + std::to_string(number);
  Violations violations;
  collector::Accept(item, SystemClock().Now(), "item", violations);
  OrThrow(violations.ToStatus());
  return item;
}

int64_t QueryNumber(pg::Pool& pool, const std::string& sql) {
  const StatusOr<int64_t> number =
      pool.Statements(Soon(), [&](pg::Session& session) -> StatusOr<int64_t> {
        return session.ExecuteText(sql)[0][0].as<int64_t>();
      });
  OrThrow(number.status());
  return *number;
}

void RunSql(pg::Pool& pool, const std::string& sql) {
  OrThrow(pool.Transaction(Soon(), [&](pg::Session& session) {
    session.ExecuteText(sql);
    return OkStatus();
  }));
}

std::vector<winnow::events::v1::Envelope> ReadOutbox(pg::Pool& pool) {
  using Envelopes = std::vector<winnow::events::v1::Envelope>;
  const StatusOr<Envelopes> read =
      pool.Statements(Soon(), [&](pg::Session& session) -> StatusOr<Envelopes> {
        Envelopes envelopes;
        for (const auto& row :
             session.ExecuteText("SELECT envelope FROM collector.outbox ORDER BY id")) {
          if (!envelopes.emplace_back().ParseFromString(pg::ToBytes(row[0]))) {
            return Internal("an envelope does not parse");
          }
        }
        return envelopes;
      });
  OrThrow(read.status());
  return *read;
}

}  // namespace winnow::test
