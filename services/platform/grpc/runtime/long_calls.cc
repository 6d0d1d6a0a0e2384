#include "services/platform/grpc/runtime/long_calls.h"

#include <vector>

namespace winnow::rpc {

std::unique_ptr<LongCalls::Place> LongCalls::Add(const std::shared_ptr<LongCall>& call) {
  if (auto place = TryAdd(call)) return place;
  if (patience_.count() == 0) return nullptr;  // of this kind none is ever idle
  const std::shared_ptr<LongCall> idle = TakeOutIdlest();
  if (idle == nullptr) return nullptr;
  idle->EndForRoom();
  return TryAdd(call);  // unless another was quicker
}

// Its place is free from now on, though it may take a while to end.
std::shared_ptr<LongCall> LongCalls::TakeOutIdlest() {
  Deadline longest = std::chrono::steady_clock::now() - patience_;
  std::shared_ptr<LongCall> idlest;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, weak] : calls_) {
    auto call = weak.lock();
    const std::optional<Deadline> since = call ? call->IdleSince() : std::nullopt;
    if (!since || *since > longest) continue;
    longest = *since;
    idlest = std::move(call);
  }
  if (idlest != nullptr) calls_.erase(idlest.get());
  return idlest;
}

std::unique_ptr<LongCalls::Place> LongCalls::TryAdd(const std::shared_ptr<LongCall>& call) {
  std::unique_ptr<Place> place;
  bool ending = false;
  {
    const std::lock_guard lock(mutex_);
    if (calls_.size() >= limit_) return nullptr;
    calls_.emplace(call.get(), call);
    place = std::make_unique<Place>(this, call.get());
    ending = ending_;
  }
  if (ending) call->EndForShutdown();
  return place;
}

void LongCalls::EndAll() {
  std::vector<std::shared_ptr<LongCall>> calls;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (const auto& [key, weak] : calls_) {
      if (auto call = weak.lock()) calls.push_back(std::move(call));
    }
  }
  for (const auto& call : calls) call->EndForShutdown();
}

void LongCalls::Remove(LongCall* call) {
  const std::lock_guard lock(mutex_);
  calls_.erase(call);
}

bool OutsideCalls::Begin() {
  // Counted first, asked afterwards: a drain that sees zero can have missed none that goes on.
  count_.fetch_add(1);
  if (!refusing_.load()) return true;
  End();
  return false;
}

void OutsideCalls::End() {
  if (count_.fetch_sub(1) == 1 && refusing_.load()) {
    const std::lock_guard lock(mutex_);
    none_.notify_all();
  }
}

void OutsideCalls::Refuse() { refusing_.store(true); }

bool OutsideCalls::WaitUntilNone(Deadline deadline) {
  std::unique_lock lock(mutex_);
  return none_.wait_until(lock, deadline, [this] { return count_.load() == 0; });
}

}  // namespace winnow::rpc
