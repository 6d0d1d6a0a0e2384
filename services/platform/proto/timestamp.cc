#include "services/platform/proto/timestamp.h"

#include <chrono>
#include <string>
#include <utility>

#include "services/platform/base/timestamp.h"

namespace winnow {
namespace {

using std::chrono::floor;
using std::chrono::seconds;

constexpr int64_t kMaxDurationSeconds = 315'576'000'000;
constexpr int64_t kNanosPerSecond = 1'000'000'000;

Status Bad(std::string description) { return InvalidField("", std::move(description)); }

}  // namespace

google::protobuf::Timestamp ToTimestamp(Time time) {
  const auto whole = floor<seconds>(time);
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(whole.time_since_epoch().count());
  timestamp.set_nanos(static_cast<int32_t>((time - whole).count() * 1000));
  return timestamp;
}

StatusOr<Time> FromTimestamp(const google::protobuf::Timestamp& timestamp) {
  if (timestamp.seconds() < kMinSeconds || timestamp.seconds() > kMaxSeconds) {
    return Bad("must be a time in the years 1 to 9999: seconds is " +
               std::to_string(timestamp.seconds()));
  }
  if (timestamp.nanos() < 0 || timestamp.nanos() >= kNanosPerSecond) {
    return Bad("nanos must be 0 to 999,999,999, not " + std::to_string(timestamp.nanos()));
  }
  return Time(seconds(timestamp.seconds()) + Micros(timestamp.nanos() / 1000));
}

google::protobuf::Duration ToDuration(Micros duration) {
  google::protobuf::Duration out;  // seconds and nanos have the same sign
  out.set_seconds(duration.count() / 1'000'000);
  out.set_nanos(static_cast<int32_t>(duration.count() % 1'000'000) * 1000);
  return out;
}

StatusOr<Micros> FromDuration(const google::protobuf::Duration& duration) {
  const int64_t whole = duration.seconds();
  const int64_t nanos = duration.nanos();
  if (whole < -kMaxDurationSeconds || whole > kMaxDurationSeconds) {
    return Bad("must be within 10,000 years: seconds is " + std::to_string(whole));
  }
  if (nanos <= -kNanosPerSecond || nanos >= kNanosPerSecond) {
    return Bad("nanos must be under one second, not " + std::to_string(nanos));
  }
  if ((whole > 0 && nanos < 0) || (whole < 0 && nanos > 0)) {
    return Bad("seconds and nanos must have the same sign");
  }
  return Micros(whole * 1'000'000 + nanos / 1000);
}

}  // namespace winnow
