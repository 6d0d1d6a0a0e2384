#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "services/classification/policy/policy.h"
#include "services/classification/policy/policy_store.h"

namespace winnow::classification {

// Policies ready to decide. A version never changes, so those that were read are kept (a few).
class CachedPolicyStore {
 public:
  explicit CachedPolicyStore(PolicyStore& store) : store_(store) {}

  // Version 0 is the newest; "default" has version 1 where nobody wrote one. NOT_FOUND.
  StatusOr<std::shared_ptr<const Decider>> Get(Deadline deadline, const std::string& ns,
                                               const std::string& name, int64_t version);

 private:
  static constexpr size_t kKept = 64;

  PolicyStore& store_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Decider>> kept_;
};

}  // namespace winnow::classification
