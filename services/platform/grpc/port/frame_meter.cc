#include "services/platform/grpc/port/frame_meter.h"

#include <algorithm>

namespace winnow::rpc {
namespace {

enum FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kRstStream = 3,
  kSettingsFrame = 4,
  kPing = 6,
  kGoaway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};
constexpr uint8_t kAck = 1;
constexpr uint8_t kEndStream = 1;
constexpr uint8_t kEndHeaders = 4;

}  // namespace

bool FrameBudget::IsUsedUp(std::chrono::steady_clock::time_point now) {
  const std::chrono::duration<double> passed = now - last_;
  if (last_ != std::chrono::steady_clock::time_point()) {
    tokens_ = std::min(burst_, tokens_ + passed.count() * per_second_);
  }
  last_ = now;
  return tokens_ < 1;
}

bool FrameBudget::Take(std::chrono::steady_clock::time_point now) {
  if (IsUsedUp(now)) return false;
  tokens_ -= 1;
  return true;
}

FrameMeter::Verdict FrameMeter::Feed(std::span<const uint8_t> bytes,
                                     std::chrono::steady_clock::time_point now) {
  const auto skip = [&bytes](size_t& left) {
    const size_t count = std::min(left, bytes.size());
    bytes = bytes.subspan(count);
    left -= count;
  };
  skip(preface_left_);
  while (verdict_ == Verdict::kFine && !bytes.empty()) {
    skip(payload_left_);
    const size_t count = std::min(kFrameHeaderBytes - header_bytes_, bytes.size());
    std::copy_n(bytes.begin(), count, header_.begin() + header_bytes_);
    bytes = bytes.subspan(count);
    header_bytes_ += count;
    if (header_bytes_ < kFrameHeaderBytes) break;
    header_bytes_ = 0;
    verdict_ = OnFrame(now);
  }
  return verdict_;
}

FrameMeter::Verdict FrameMeter::OnFrame(std::chrono::steady_clock::time_point now) {
  const size_t length = (size_t{header_[0]} << 16) | (size_t{header_[1]} << 8) | header_[2];
  const uint8_t type = header_[3];
  const uint8_t flags = header_[4];
  payload_left_ = length;
  switch (type) {
    case kHeaders:
    case kContinuation:
      return OnHeaderBlock(type, length, flags);
    case kRstStream:
      return resets_.Take(now) ? Verdict::kFine : Verdict::kResets;
    case kSettingsFrame:
      settings_acknowledged_ = settings_acknowledged_ || (flags & kAck) != 0;
      return settings_.Take(now) ? Verdict::kFine : Verdict::kSettings;
    case kData:
      if (length > 0 || (flags & kEndStream) != 0) return Verdict::kFine;
      break;
    case kPing:          // gRPC counts them (ping strikes)
    case kWindowUpdate:  // as many as there is data to be read
      return Verdict::kFine;
    default:
      break;
  }
  return idle_frames_.Take(now) ? Verdict::kFine : Verdict::kFrames;
}

FrameMeter::Verdict FrameMeter::OnHeaderBlock(uint8_t type, size_t length, uint8_t flags) {
  if (type == kHeaders) {
    block_bytes_ = 0;
    continuations_ = 0;
    if (!settings_acknowledged_ && ++streams_before_settings_ > kMaxStreamsBeforeSettings) {
      return Verdict::kStreamsBeforeSettings;
    }
  } else if (++continuations_ > kMaxContinuations) {
    return Verdict::kHeaderBlock;
  }
  block_bytes_ += length;
  if (block_bytes_ > kMaxHeaderBlockBytes) return Verdict::kHeaderBlock;
  if ((flags & kEndHeaders) != 0) block_bytes_ = 0;
  return Verdict::kFine;
}

const char* NameOf(FrameMeter::Verdict verdict) {
  switch (verdict) {
    case FrameMeter::Verdict::kFine:
      return "none";
    case FrameMeter::Verdict::kHeaderBlock:
      return "header_block";
    case FrameMeter::Verdict::kSettings:
      return "settings";
    case FrameMeter::Verdict::kStreamsBeforeSettings:
      return "streams_before_settings";
    case FrameMeter::Verdict::kResets:
      return "resets";
    case FrameMeter::Verdict::kFrames:
      return "frames";
  }
  return "unknown";
}

}  // namespace winnow::rpc
