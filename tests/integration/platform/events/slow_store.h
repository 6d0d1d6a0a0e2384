#pragma once

#include <atomic>
#include <chrono>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "services/platform/events/core/consumer.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::events {

// A consumer that keeps the items of its events in the table public.kept, which somebody may have
// locked: then its statements end by their deadline.
class SlowStore {
 public:
  explicit SlowStore(pg::Pool& pool) : pool_(pool) {
    const Status made = pool_.Statements(Soon(), [](pg::Session& session) {
      session.ExecuteText("CREATE TABLE public.kept (item text PRIMARY KEY)");
      return OkStatus();
    });
    if (!made.ok()) throw std::runtime_error(made.ToString());
  }

  std::vector<Status> Deliver(std::span<const Envelope> envelopes) {
    ++tries_;
    std::string sql = "INSERT INTO public.kept VALUES ";
    for (const Envelope& envelope : envelopes) {
      if (sql.back() == ')') sql += ',';
      sql += "('" + envelope.item_collected().item_id() + "')";
    }
    const auto patience = is_patient_ ? std::chrono::seconds(60) : std::chrono::milliseconds(100);
    const Status kept =
        pool_.Transaction(std::chrono::steady_clock::now() + patience, [&](pg::Session& session) {
          session.ExecuteText(sql + " ON CONFLICT DO NOTHING");
          return OkStatus();
        });
    timeouts_ += kept.code() == StatusCode::kDeadlineExceeded ? 1 : 0;
    return std::vector<Status>(envelopes.size(), kept);
  }
  // From now on: so that a slow machine is not taken for a lock.
  void BePatient() { is_patient_ = true; }
  int tries() const { return tries_; }
  int timeouts() const { return timeouts_; }
  int kept() const {
    const auto count = pool_.Statements(Soon(), [](pg::Session& session) -> StatusOr<int> {
      return session.ExecuteText("SELECT count(*) FROM public.kept")[0][0].as<int>();
    });
    return count.value_or(-1);
  }

 private:
  static Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }

  pg::Pool& pool_;
  std::atomic<bool> is_patient_ = false;
  std::atomic<int> tries_ = 0;
  std::atomic<int> timeouts_ = 0;
};

}  // namespace winnow::events
