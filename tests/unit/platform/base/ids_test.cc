#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "services/platform/base/hash.h"
#include "services/platform/base/uuid.h"
#include "services/platform/grpc/call/trace_context.h"
#include "tests/support/sync/fake_clock.h"

namespace winnow {
namespace {

using test::FakeClock;

TEST(Hash, ValuesStayWhatXxh3Says) {
  // Of the reference implementation: stored hashes depend on them.
  EXPECT_EQ(Hash64(""), 0x2d06800538d394c2u);
  EXPECT_EQ(Hash64("winnow"), Hash64("winnow", 0));
  EXPECT_NE(Hash64("winnow"), Hash64("winnow", 1));
  EXPECT_EQ(Hash128("").high, 0x99aa06d3014798d8u);
  EXPECT_EQ(Hash128("").low, 0x6001c324468d497fu);
}

TEST(Hash, HexIsLowerCaseTwoDigitsAByte) {
  EXPECT_EQ(Hex(""), "");
  EXPECT_EQ(Hex(std::string_view("\x00\x0f\xa5\xff", 4)), "000fa5ff");
}

TEST(Uuid, HasVersion7AndTheMillisecondsInFront) {
  const std::string id = NewUuidV7(FakeClock::kStart);
  ASSERT_TRUE(IsUuid(id)) << id;
  EXPECT_EQ(id[14], '7');
  EXPECT_NE(std::string("89ab").find(id[19]), std::string::npos) << id;
  EXPECT_EQ(id.substr(0, 13), "019c167f-cc00");
}

TEST(Uuid, IdsMadeInOrderSortInOrder) {
  FakeClock clock;
  std::string last;
  for (int i = 0; i < 10'000; ++i) {
    if (i % 100 == 0) clock.Advance(std::chrono::milliseconds(1));
    std::string id = NewUuidV7(clock.Now());
    ASSERT_LT(last, id);
    last = std::move(id);
  }
}

TEST(Uuid, IdsOfThreadsDiffer) {
  std::vector<std::vector<std::string>> made(4);
  {
    std::vector<std::jthread> threads;
    for (auto& ids : made) {
      threads.emplace_back([&ids] {
        for (int i = 0; i < 5'000; ++i) ids.push_back(NewUuidV7(FakeClock::kStart));
      });
    }
  }
  std::set<std::string> all;
  for (const auto& ids : made) all.insert(ids.begin(), ids.end());
  EXPECT_EQ(all.size(), 20'000u);
}

TEST(Uuid, ATimeBefore1970StillGivesAUuid) {
  EXPECT_TRUE(IsUuid(NewUuidV7(Time(std::chrono::seconds(-5)))));
}

TEST(Uuid, IsUuidTakesTheCanonicalFormOnly) {
  EXPECT_TRUE(IsUuid("019c1688-2800-7000-8000-0123456789ab"));
  EXPECT_TRUE(IsUuid("019C1688-2800-4000-8000-0123456789AB"));
  EXPECT_FALSE(IsUuid(""));
  EXPECT_FALSE(IsUuid("019c168828007000800000123456789ab"));
  EXPECT_FALSE(IsUuid("019c1688-2800-7000-8000-0123456789a"));
  EXPECT_FALSE(IsUuid("019c1688-2800-7000-8000-0123456789ag"));
  EXPECT_FALSE(IsUuid("{19c1688-2800-7000-8000-0123456789a}"));
  EXPECT_FALSE(IsUuid("019c1688-2800-7000-80000-123456789ab"));
}

constexpr std::string_view kTraceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(Trace, AGoodHeaderComesBackAsItWas) {
  const TraceContext trace = ParseOrStartTrace(kTraceparent);
  EXPECT_EQ(trace.trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(trace.parent_id, "00f067aa0ba902b7");
  EXPECT_TRUE(trace.sampled);
  EXPECT_EQ(trace.ToTraceparent(), kTraceparent);
}

TEST(Trace, ALaterVersionMayGoOnAfterTheFlags) {
  std::string later = "cc" + std::string(kTraceparent.substr(2)) + "-what-comes";
  EXPECT_EQ(ParseOrStartTrace(later).trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
}

TEST(Trace, ABadHeaderStartsANewTrace) {
  const std::string good(kTraceparent);
  std::vector<std::string> bad = {"",
                                  "00",
                                  good + "-more",
                                  good.substr(0, 54),
                                  "ff" + good.substr(2),
                                  "0x" + good.substr(2),
                                  "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                                  "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                                  "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                                  "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
                                  "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"};
  for (const std::string& header : bad) {
    const TraceContext trace = ParseOrStartTrace(header);
    EXPECT_NE(trace.trace_id, "4bf92f3577b34da6a3ce929d0e0e4736") << header;
    // What was made is a good header itself.
    EXPECT_EQ(ParseOrStartTrace(trace.ToTraceparent()).trace_id, trace.trace_id) << header;
    EXPECT_FALSE(trace.sampled);
  }
}

TEST(Trace, AChildKeepsTheTraceAndGetsItsOwnParent) {
  const TraceContext parent = ParseOrStartTrace(kTraceparent);
  const TraceContext child = ChildOf(parent);
  EXPECT_EQ(child.trace_id, parent.trace_id);
  EXPECT_NE(child.parent_id, parent.parent_id);
  EXPECT_TRUE(child.sampled);
}

}  // namespace
}  // namespace winnow
