#include "services/platform/postgres/session/binary_array.h"

#include <bit>
#include <stdexcept>

namespace winnow::pg {
namespace {

// Where PostgreSQL's times begin.
constexpr Time kEpoch{std::chrono::sys_days(std::chrono::year(2000) / 1 / 1)};

void AppendBigEndian(std::string& out, uint64_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out += static_cast<char>(number >> shift);
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  throw std::invalid_argument("not a UUID");
}

}  // namespace

BinaryArray::BinaryArray(Type type) : type_(type) {}

void BinaryArray::AddElement(std::string_view bytes) {
  AppendBigEndian(bytes_, bytes.size(), 4);
  bytes_ += bytes;
  ++size_;
}

void BinaryArray::AddNumber(int64_t number) {
  AppendBigEndian(bytes_, 8, 4);
  AppendBigEndian(bytes_, static_cast<uint64_t>(number), 8);
  ++size_;
}

void BinaryArray::AddDouble(double number) { AddNumber(std::bit_cast<int64_t>(number)); }

void BinaryArray::AddNull() {
  AppendBigEndian(bytes_, UINT32_MAX, 4);
  has_null_ = true;
  ++size_;
}

void BinaryArray::AddTime(Time time) { AddNumber((time - kEpoch).count()); }

void BinaryArray::AddUuid(uint64_t high, uint64_t low) {
  AppendBigEndian(bytes_, 16, 4);
  AppendBigEndian(bytes_, high, 8);
  AppendBigEndian(bytes_, low, 8);
  ++size_;
}

void BinaryArray::AddUuid(std::string_view text) {
  uint64_t halves[2] = {0, 0};
  int digits = 0;
  for (const char c : text) {
    if (c == '-') continue;
    if (digits == 32) throw std::invalid_argument("not a UUID");
    uint64_t& half = halves[digits++ / 16];
    half = half << 4 | static_cast<uint64_t>(HexDigit(c));
  }
  if (digits != 32) throw std::invalid_argument("not a UUID");
  AddUuid(halves[0], halves[1]);
}

std::string BinaryArray::ToBytes() const {
  std::string out;
  out.reserve(20 + bytes_.size());
  AppendBigEndian(out, size_ == 0 ? 0 : 1, 4);  // dimensions
  AppendBigEndian(out, has_null_ ? 1 : 0, 4);
  AppendBigEndian(out, type_, 4);
  if (size_ == 0) return out;
  AppendBigEndian(out, static_cast<uint64_t>(size_), 4);
  AppendBigEndian(out, 1, 4);  // first index
  return out += bytes_;
}

}  // namespace winnow::pg
