#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "services/dedup/decide/decision_parts.h"
#include "services/dedup/log/window_page.h"
#include "services/dedup/policy/policy.h"

namespace winnow::dedup {

// Reads part of a namespace's log, page by page in order, for one thread that takes the pages. What
// it takes long over (PostgreSQL, and making tokens of texts) is done ahead on further threads, as
// far as the process has any to spare; pages read ahead are bounded.
class PageReader {
 public:
  // Entries with seq in (after, last].
  PageReader(const DecisionParts& parts, const std::string& ns, const Policy& policy, int64_t after,
             int64_t last);
  ~PageReader();  // waits for what is being read
  PageReader(const PageReader&) = delete;
  PageReader& operator=(const PageReader&) = delete;

  struct Page {
    int64_t last = 0;  // every entry up to this seq was on this page or an earlier one
    std::unique_ptr<WindowPage> entries;
  };
  bool at_end() const { return taken_ == pages_; }
  // The next page; not at the end. After an error no more.
  StatusOr<Page> Next();

 private:
  StatusOr<Page> Read(int64_t number) const;
  void ReadAhead();

  const DecisionParts& parts_;
  const std::string& ns_;
  const Policy policy_;
  const std::string model_;
  const int64_t after_;
  const int64_t last_;
  const int64_t pages_;
  int64_t taken_ = 0;  // by Next
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  int64_t begun_ = 0;                                  // pages that a thread reads or has read
  std::vector<std::unique_ptr<StatusOr<Page>>> read_;  // by number, modulo its size
  std::vector<std::thread> threads_;
};

}  // namespace winnow::dedup
