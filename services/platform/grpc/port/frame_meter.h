#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace winnow::rpc {

// A budget that fills again with time.
class FrameBudget {
 public:
  FrameBudget(double burst, double per_second)
      : burst_(burst), per_second_(per_second), tokens_(burst) {}
  // False: it is used up.
  bool Take(std::chrono::steady_clock::time_point now);
  bool IsUsedUp(std::chrono::steady_clock::time_point now);

 private:
  double burst_;
  double per_second_;
  double tokens_;
  std::chrono::steady_clock::time_point last_{};
};

// Follows the HTTP/2 frames that one client sends, as bytes in any pieces, and finds those that
// gRPC 1.51 handles at a cost out of proportion (docs/adr/0016 lists the CVEs). It looks at frame
// headers only; whatever is no HTTP/2 is left to gRPC. Not thread-safe.
class FrameMeter {
 public:
  // Why a connection is to be cut. A closed set: labels of a metric.
  enum class Verdict { kFine, kHeaderBlock, kSettings, kStreamsBeforeSettings, kResets, kFrames };

  // Compressed headers of a call, over HEADERS and CONTINUATION frames; gRPC's own limit is 8 KiB
  // of decoded ones, but it buffers and parses again what it has of an incomplete header.
  static constexpr size_t kMaxHeaderBlockBytes = size_t{64} << 10;
  static constexpr int kMaxContinuations = 16;
  // Calls that a client may begin before it has acknowledged SETTINGS: until then gRPC knows no
  // limit of streams for it.
  static constexpr int kMaxStreamsBeforeSettings = 4'096;

  // The verdict on everything so far. After one that is not kFine nothing more is looked at.
  Verdict Feed(std::span<const uint8_t> bytes, std::chrono::steady_clock::time_point now);

 private:
  static constexpr size_t kFrameHeaderBytes = 9;
  Verdict OnFrame(std::chrono::steady_clock::time_point now);
  Verdict OnHeaderBlock(uint8_t type, size_t length, uint8_t flags);

  size_t preface_left_ = 24;  // "PRI * HTTP/2.0..."
  std::array<uint8_t, kFrameHeaderBytes> header_{};
  size_t header_bytes_ = 0;
  size_t payload_left_ = 0;
  size_t block_bytes_ = 0;  // of the header block that has begun
  int continuations_ = 0;
  int streams_before_settings_ = 0;
  bool settings_acknowledged_ = false;
  Verdict verdict_ = Verdict::kFine;
  // Cancelled calls cost about 50 us each. All calls that a connection may have (4,096) may reach
  // their deadline at once.
  FrameBudget resets_{5'000, 200};
  FrameBudget settings_{100, 10};
  // PRIORITY, unknown types, DATA without data: nothing that a client needs many of.
  FrameBudget idle_frames_{1'000, 1'000};
};

const char* NameOf(FrameMeter::Verdict verdict);

}  // namespace winnow::rpc
