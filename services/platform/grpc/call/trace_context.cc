#include "services/platform/grpc/call/trace_context.h"

#include <algorithm>

#include "services/platform/base/hash.h"
#include "services/platform/base/random.h"

namespace winnow {
namespace {

constexpr size_t kTraceIdSize = 32;
constexpr size_t kParentIdSize = 16;
constexpr size_t kVersion00Size = 55;

// The standard allows lower case only.
bool IsLowerHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsId(std::string_view text) {
  return IsLowerHex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

int HexValue(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

std::string RandomId(size_t digits) {
  std::string bytes;
  while (bytes.size() < digits / 2) {
    const uint64_t bits = RandomBits();
    bytes.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  }
  std::string id = Hex(bytes);
  if (!IsId(id)) id.back() = '1';  // all zeros means "none"
  return id;
}

bool HasTraceparentShape(std::string_view text) {
  if (text.size() < kVersion00Size || text[2] != '-' || text[35] != '-' || text[52] != '-') {
    return false;
  }
  const std::string_view version = text.substr(0, 2);
  if (!IsLowerHex(version) || version == "ff") return false;
  // Later versions may go on after what version 00 has.
  if (text.size() > kVersion00Size && (version == "00" || text[kVersion00Size] != '-')) {
    return false;
  }
  return IsId(text.substr(3, kTraceIdSize)) && IsId(text.substr(36, kParentIdSize)) &&
         IsLowerHex(text.substr(53, 2));
}

}  // namespace

std::string TraceContext::ToTraceparent() const {
  return "00-" + trace_id + "-" + parent_id + (sampled ? "-01" : "-00");
}

TraceContext ParseOrStartTrace(std::string_view traceparent) {
  if (!HasTraceparentShape(traceparent)) {
    return {RandomId(kTraceIdSize), RandomId(kParentIdSize), false};
  }
  return {std::string(traceparent.substr(3, kTraceIdSize)),
          std::string(traceparent.substr(36, kParentIdSize)), (HexValue(traceparent[54]) & 1) != 0};
}

TraceContext ChildOf(const TraceContext& parent) {
  return {parent.trace_id, RandomId(kParentIdSize), parent.sampled};
}

}  // namespace winnow
