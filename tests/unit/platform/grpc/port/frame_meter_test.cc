#include "services/platform/grpc/port/frame_meter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace winnow::rpc {
namespace {

using Verdict = FrameMeter::Verdict;
using std::chrono::steady_clock;

constexpr uint8_t kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kContinuation = 9;
constexpr uint8_t kAck = 1, kEndHeaders = 4;

std::vector<uint8_t> Frame(uint8_t type, uint8_t flags, size_t length) {
  std::vector<uint8_t> frame = {static_cast<uint8_t>(length >> 16),
                                static_cast<uint8_t>(length >> 8),
                                static_cast<uint8_t>(length),
                                type,
                                flags,
                                0,
                                0,
                                0,
                                1};
  frame.resize(frame.size() + length, 'x');
  return frame;
}

class Meter : public ::testing::Test {
 protected:
  Meter() { Send(std::vector<uint8_t>(24, 'P')); }
  Verdict Send(const std::vector<uint8_t>& bytes) { return meter_.Feed(bytes, now_); }
  // Of the first frame that is not fine, or kFine after `count` of them.
  Verdict Repeat(int count, const std::vector<uint8_t>& bytes) {
    for (int i = 0; i < count; ++i) {
      if (const Verdict verdict = Send(bytes); verdict != Verdict::kFine) return verdict;
    }
    return Verdict::kFine;
  }
  steady_clock::time_point now_{std::chrono::hours(1)};
  FrameMeter meter_;
};

TEST_F(Meter, LetsAnyNumberOfCallsPassInAnyPieces) {
  std::vector<uint8_t> calls = Frame(kSettings, kAck, 0);
  for (int i = 0; i < 10'000; ++i) {
    const auto headers = Frame(kHeaders, kEndHeaders, 100);
    const auto data = Frame(kData, 1, 50);
    calls.insert(calls.end(), headers.begin(), headers.end());
    calls.insert(calls.end(), data.begin(), data.end());
  }
  for (size_t at = 0, size = 1; at < calls.size(); at += size, size = size % 97 + 1) {
    const size_t count = std::min(size, calls.size() - at);
    ASSERT_EQ(Send({calls.begin() + static_cast<ptrdiff_t>(at),
                    calls.begin() + static_cast<ptrdiff_t>(at + count)}),
              Verdict::kFine);
  }
}

TEST_F(Meter, BoundsAHeaderBlockByBytesAndByFrames) {
  Send(Frame(kHeaders, 0, 100));
  EXPECT_EQ(Repeat(16, Frame(kContinuation, 0, 1)), Verdict::kFine);
  EXPECT_EQ(Send(Frame(kContinuation, 0, 1)), Verdict::kHeaderBlock);
}

TEST_F(Meter, BoundsAHeaderBlockBeforeItsBytesHaveCome) {
  std::vector<uint8_t> big = Frame(kHeaders, kEndHeaders, 70'000);
  big.resize(9);
  EXPECT_EQ(Send(big), Verdict::kHeaderBlock);
}

TEST_F(Meter, ABlockOfSeveralFramesIsFineAgainAndAgain) {
  Send(Frame(kSettings, kAck, 0));
  for (int i = 0; i < 100; ++i) {
    Send(Frame(kHeaders, 0, 16'000));
    EXPECT_EQ(Send(Frame(kContinuation, kEndHeaders, 16'000)), Verdict::kFine);
  }
}

TEST_F(Meter, ResetsHaveABudgetThatFillsAgain) {
  EXPECT_EQ(Repeat(5'000, Frame(kReset, 0, 4)), Verdict::kFine);
  now_ += std::chrono::seconds(1);
  EXPECT_EQ(Repeat(200, Frame(kReset, 0, 4)), Verdict::kFine);
  EXPECT_EQ(Send(Frame(kReset, 0, 4)), Verdict::kResets);
  now_ += std::chrono::hours(1);
  EXPECT_EQ(Send(Frame(kData, 0, 4)), Verdict::kResets);  // for good
}

TEST_F(Meter, StreamsAreBoundedUntilSettingsAreAcknowledged) {
  EXPECT_EQ(Repeat(4'096, Frame(kHeaders, kEndHeaders, 10)), Verdict::kFine);
  EXPECT_EQ(Send(Frame(kHeaders, kEndHeaders, 10)), Verdict::kStreamsBeforeSettings);
}

TEST_F(Meter, FramesWithoutEffectHaveABudget) {
  EXPECT_EQ(Repeat(2'000, Frame(kSettings, 0, 0)), Verdict::kSettings);
  meter_ = FrameMeter();
  Send(std::vector<uint8_t>(24, 'P'));
  EXPECT_EQ(Repeat(2'000, Frame(kData, 0, 0)), Verdict::kFrames);
}

}  // namespace
}  // namespace winnow::rpc
