#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "services/platform/base/status.h"
#include "services/platform/process/metrics.h"

namespace winnow::redis {

// The keys of other programs that stop parts of a projection: a line in the log when a part stops
// and when it goes on, a gauge, and the error of a health probe. Any thread.
class ForeignKeys {
 public:
  // `projection`: label of the gauge ("newsfeed"). `parts`: what a part is, in plural ("feeds").
  // `remedy`: a sentence for the operator.
  ForeignKeys(std::string projection, std::string parts, std::string remedy, Metrics& metrics);

  // `keys`, at least one, stop `part` now.
  void Report(const std::string& part, const std::vector<std::string>& keys);
  // Nothing stops `part` now.
  void Clear(const std::string& part);
  // Parts that are not in `parts` no longer exist.
  void KeepOnly(const std::set<std::string>& parts);
  bool Stops(const std::string& part) const;

  // FAILED_PRECONDITION, naming a key and the remedy, while a part is stopped.
  Status Check() const;

 private:
  struct Stopped {
    std::string first_key;
    size_t keys = 0;
  };
  size_t Count() const;

  const std::string projection_;
  const std::string parts_;
  const std::string remedy_;
  mutable std::mutex mutex_;
  std::map<std::string, Stopped> stopped_;  // at most kMaxParts
  std::shared_ptr<void> gauge_;             // reads the above
};

}  // namespace winnow::redis
