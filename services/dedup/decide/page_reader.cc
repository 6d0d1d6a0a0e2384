#include "services/dedup/decide/page_reader.h"

#include <algorithm>
#include <chrono>

#include "services/dedup/log/log_store.h"
#include "services/platform/grpc/errors/rpc_status.h"

namespace winnow::dedup {
namespace {

using std::chrono::steady_clock;

// Some 3 MB of rows, read in some 15 ms.
constexpr int64_t kPageEntries = 4'000;
constexpr std::chrono::seconds kPageTime(10);
// Pages that lie ready for the thread that takes them, or are being read, for each that reads.
constexpr size_t kPagesAhead = 3;
constexpr int64_t kMaxThreads = 4;  // of one load

// Takes as many threads as are free, at most `wanted`.
int64_t TakeThreads(std::atomic<int>& free, int64_t wanted) {
  int now = free;
  for (;;) {
    const int taken = static_cast<int>(std::clamp<int64_t>(now, 0, wanted));
    if (free.compare_exchange_weak(now, now - taken)) return taken;
  }
}

}  // namespace

PageReader::PageReader(const DecisionParts& parts, const std::string& ns, const Policy& policy,
                       int64_t after, int64_t last)
    : parts_(parts),
      ns_(ns),
      policy_(policy),
      model_(parts.model()),
      after_(after),
      last_(last),
      pages_((std::max<int64_t>(last - after, 0) + kPageEntries - 1) / kPageEntries) {
  if (pages_ < 2) return;
  const auto threads =
      static_cast<size_t>(TakeThreads(parts_.loads.free_threads, std::min(kMaxThreads, pages_)));
  read_.resize(threads * kPagesAhead);
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { ReadAhead(); });
}

PageReader::~PageReader() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  parts_.loads.free_threads += static_cast<int>(threads_.size());
}

StatusOr<PageReader::Page> PageReader::Read(int64_t number) const {
  if (parts_.loads.stopping) return rpc::ShuttingDown();
  const int64_t after = after_ + number * kPageEntries;
  Page page{std::min(after + kPageEntries, last_), std::make_unique<WindowPage>(parts_.rules)};
  const Status read =
      parts_.reads.Statements(steady_clock::now() + kPageTime, [&](pg::Session& session) {
        ReadWindowPage(session, ns_, after, page.last, kPageEntries, policy_, model_,
                       *page.entries);
        return OkStatus();
      });
  WINNOW_RETURN_IF_ERROR(read);
  return page;
}

void PageReader::ReadAhead() {
  const auto ahead = static_cast<int64_t>(read_.size());
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || begun_ == pages_ || begun_ - taken_ < ahead; });
    if (ending_ || begun_ == pages_) return;
    const int64_t number = begun_++;
    lock.unlock();
    auto page = std::make_unique<StatusOr<Page>>(Read(number));
    lock.lock();
    ending_ = ending_ || !page->ok();  // what follows is of no use
    read_[static_cast<size_t>(number % ahead)] = std::move(page);
    changed_.notify_all();
  }
}

StatusOr<PageReader::Page> PageReader::Next() {
  if (threads_.empty()) return Read(taken_++);
  std::unique_lock lock(mutex_);
  std::unique_ptr<StatusOr<Page>>& slot = read_[static_cast<size_t>(taken_) % read_.size()];
  // An error ends the threads, maybe before this page was begun.
  changed_.wait(lock, [&] { return slot != nullptr || (ending_ && taken_ >= begun_); });
  if (slot == nullptr) return Internal("a page of the log is taken after an error");
  const std::unique_ptr<StatusOr<Page>> page = std::move(slot);
  slot.reset();
  ++taken_;
  changed_.notify_all();
  return std::move(*page);
}

}  // namespace winnow::dedup
