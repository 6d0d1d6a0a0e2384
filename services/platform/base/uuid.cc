#include "services/platform/base/uuid.h"

#include <algorithm>
#include <atomic>

#include "services/platform/base/ascii.h"
#include "services/platform/base/random.h"

namespace winnow {
namespace {

// 42 bits that follow the milliseconds and never start again: also ids of two threads that saw
// different milliseconds keep their order. A random start below half keeps processes apart and
// leaves 2^41 ids before it wraps.
uint64_t NextCount() {
  static std::atomic<uint64_t> counter{RandomBits() >> 23};
  return counter.fetch_add(1, std::memory_order_relaxed) & ((uint64_t{1} << 42) - 1);
}

void AppendHex(uint64_t value, int digits, std::string& out) {
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) {
    out += "0123456789abcdef"[(value >> shift) & 0xF];
  }
}

}  // namespace

std::string NewUuidV7(Time now) {
  const auto since_epoch = std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch());
  const auto milliseconds = static_cast<uint64_t>(std::max<int64_t>(0, since_epoch.count()));
  const uint64_t count = NextCount();
  const uint64_t high = (milliseconds << 16) | 0x7000 | (count >> 30);
  const uint64_t low = (uint64_t{2} << 62) | ((count & 0x3FFF'FFFF) << 32) | (RandomBits() >> 32);
  std::string id;
  id.reserve(36);
  AppendHex(high >> 32, 8, id);
  id += '-';
  AppendHex(high >> 16, 4, id);
  id += '-';
  AppendHex(high, 4, id);
  id += '-';
  AppendHex(low >> 48, 4, id);
  id += '-';
  AppendHex(low, 12, id);
  return id;
}

bool IsUuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : HexValue(text[i]) < 0) return false;
  }
  return true;
}

}  // namespace winnow
