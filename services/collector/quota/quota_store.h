#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/collector/quota/quota.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/function_ref.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::collector {

// The ledger's rows, and what is known of pages' pictures. Errors of every method: as pg::Pool.
class QuotaStore {
 public:
  // The pools outlive the store.
  QuotaStore(pg::Pool& reads, pg::Pool& writes) : reads_(reads), writes_(writes) {}

  // Reads a credential's row under a lock, changes it and commits. `key_hash` identifies the key: a
  // block for a refused key ends with that key.
  Status Change(Deadline deadline, const std::string& credential, int64_t key_hash,
                FunctionRef<void(QuotaState&)> change);
  // As it stands; of a credential that never called, an empty one.
  StatusOr<QuotaState> Read(Deadline deadline, const std::string& credential);

  // What is remembered of each page: its picture, "" for none, nullopt if it was not fetched
  // lately.
  StatusOr<std::vector<std::optional<std::string>>> FindPictures(
      Deadline deadline, const std::vector<Hash128Value>& pages);
  struct Picture {
    Hash128Value page;
    std::string image_url;
    std::chrono::seconds keep{0};
  };
  Status SavePictures(Deadline deadline, const std::vector<Picture>& pictures);
  // Up to 1,000; how many.
  StatusOr<int64_t> DeleteOldPictures(Deadline deadline);

 private:
  pg::Pool& reads_;
  pg::Pool& writes_;
};

}  // namespace winnow::collector
