#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "services/collector/quota/credential.h"
#include "services/collector/quota/ledger_clock.h"
#include "services/collector/quota/quota_store.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/http/client.h"
#include "services/platform/process/metrics.h"

namespace winnow::collector {

// The ledger of calls at work: one call a credential at a time, each reserved in the store before
// it is made, and what the vendor says of its own count and clock taken in after it.
class LedgerClient {
 public:
  // `credentials` and `store` outlive it.
  LedgerClient(const std::vector<Credential>& credentials, QuotaStore& store, const Clock& clock,
               Metrics& metrics);

  // The process has taken over, or looked at the store's clock again.
  void TakeOver(Time store_time);
  void Observe(Time store_time);

  // Holds a credential's turn: no other thread calls with it.
  using Turn = std::unique_lock<std::mutex>;
  Turn TakeTurn(const Credential& credential);

  // With the turn held. A grant that the store did not take is an error.
  StatusOr<Grant> Reserve(Deadline deadline, const Credential& credential);
  // How long to wait for a grant that was refused.
  std::chrono::milliseconds WaitOf(const Credential& credential, const Grant& grant);
  // What an answer says: its Date, what is left, and what its error asks for. `wait`: of its
  // Retry-After. Answers how long nothing is to be asked; 0: nothing was said.
  StatusOr<std::chrono::seconds> Settle(Deadline deadline, const Credential& credential,
                                        const http::Response& response,
                                        const std::optional<VendorError>& error);

 private:
  struct Account {
    std::mutex turn;
    std::mutex clock_mutex;
    LedgerClock clock;
    Gauge* left = nullptr;
    Counter* calls = nullptr;
  };
  Account& AccountOf(const Credential& credential);

  QuotaStore& store_;
  const Clock& clock_;
  std::map<std::string, std::unique_ptr<Account>> accounts_;  // never changes
};

}  // namespace winnow::collector
