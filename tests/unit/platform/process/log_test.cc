#include "services/platform/process/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>

#include "services/platform/base/timestamp.h"
#include "services/platform/base/utf8.h"
#include "services/platform/process/log_writer.h"

namespace winnow {
namespace {

using google::protobuf::Struct;

// What `write` left on standard error.
template <typename F>
std::string Captured(F write) {
  ::testing::internal::CaptureStderr();
  write();
  return ::testing::internal::GetCapturedStderr();
}

// One log line, read by a JSON parser that is not ours.
Struct ParseLine(const std::string& line) {
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
  EXPECT_EQ(line.back(), '\n');
  Struct parsed;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(line, &parsed).ok()) << line;
  return parsed;
}

std::string Text(const Struct& line, const std::string& key) {
  return line.fields().at(key).string_value();
}

TEST(Log, ALineIsOneJsonObject) {
  const Struct line = ParseLine(Captured([] {
    log::Warn("outbox is behind",
              {{"rows", 42}, {"seconds", 1.5}, {"ok", false}, {"target", "dedup"}});
  }));
  EXPECT_TRUE(ParseTime(Text(line, "time")).ok());
  EXPECT_EQ(Text(line, "level"), "warn");
  EXPECT_EQ(Text(line, "msg"), "outbox is behind");
  EXPECT_EQ(line.fields().at("rows").number_value(), 42);
  EXPECT_EQ(line.fields().at("seconds").number_value(), 1.5);
  EXPECT_FALSE(line.fields().at("ok").bool_value());
  EXPECT_EQ(Text(line, "target"), "dedup");
}

TEST(Log, NothingInAFieldCanEndTheLineOrTheString) {
  std::string every;
  for (int c = 0; c < 128; ++c) every += static_cast<char>(c);
  const Struct line = ParseLine(Captured([&] {
    log::Info("x", {{"field", every}, {"ke\"y\n", "v"}});
  }));
  EXPECT_EQ(Text(line, "field"), every);
  EXPECT_EQ(Text(line, "ke\"y\n"), "v");
}

TEST(Log, ControlCharactersAreNeverWrittenAsThemselves) {
  const std::string line = Captured([] { log::Info("\x1b[31m red \x7f \r\n"); });
  for (const char c : line.substr(0, line.size() - 1)) {
    EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) << line;
  }
}

TEST(Log, BytesThatAreNotUtf8AreReplaced) {
  const Struct line = ParseLine(Captured([] { log::Info("a\xFF\xC3(b"); }));
  EXPECT_EQ(Text(line, "msg"), "a\xEF\xBF\xBD\xEF\xBF\xBD(b");
}

TEST(Log, NumbersThatJsonLacksAreNull) {
  const Struct line = ParseLine(Captured([] {
    log::Info("x", {{"nan", std::nan("")}, {"inf", HUGE_VAL}});
  }));
  EXPECT_TRUE(line.fields().at("nan").has_null_value());
  EXPECT_TRUE(line.fields().at("inf").has_null_value());
}

TEST(Log, LinesBelowTheLevelAreNotWritten) {
  log::SetLevel(log::Level::kWarn);
  EXPECT_EQ(Captured([] { log::Info("quiet"); }), "");
  EXPECT_NE(Captured([] { log::Error("loud"); }), "");
  log::SetLevel(log::Level::kInfo);
  EXPECT_EQ(Captured([] { log::Debug("quiet"); }), "");
}

// Standard error as a pipe that takes one page and that nobody reads, while it lives.
class UnreadStderr {
 public:
  UnreadStderr() {
    EXPECT_EQ(pipe(ends_.data()), 0);
    EXPECT_GT(fcntl(ends_[1], F_SETPIPE_SZ, 4096), 0);
    dup2(ends_[1], STDERR_FILENO);
    close(ends_[1]);
  }
  ~UnreadStderr() {
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    close(ends_[0]);
  }
  // The next bytes that come.
  std::string Read() const {
    std::array<char, 4096> buffer;
    const ssize_t count = read(ends_[0], buffer.data(), buffer.size());
    return {buffer.data(), static_cast<size_t>(std::max<ssize_t>(count, 0))};
  }

 private:
  const int saved_ = dup(STDERR_FILENO);
  std::array<int, 2> ends_{};
};

class TestCounter final : public Counter {
 public:
  void Increment(double by) override { count += static_cast<int>(by); }
  std::atomic<int> count = 0;
};

TEST(Log, InBackgroundWaitsForNoReaderAndTellsWhatWasLost) {
  const UnreadStderr unread;
  TestCounter dropped;
  log::CountDroppedIn(&dropped);
  {
    const log::LogWriter background;
    const std::string text(1000, 'x');
    int written = 0;
    while (dropped.count < 10) log::Info(text, {{"number", ++written}});
    EXPECT_GT(static_cast<size_t>(written) * text.size(), log::LogWriter::kMaxBytes / 2);
    EXPECT_FALSE(log::LogWriter::Flush());
    std::string all;
    while (all.find("lines were dropped") == std::string::npos || !all.ends_with('\n')) {
      all += unread.Read();
    }
    EXPECT_THAT(all, testing::HasSubstr("\"lines\":10}"));
    EXPECT_THAT(all, testing::HasSubstr("\"number\":" + std::to_string(written - 10) + "}"));
    EXPECT_TRUE(log::LogWriter::Flush());
    log::Info("it flows again");
  }
  EXPECT_THAT(unread.Read(), testing::HasSubstr("it flows again"));
  log::Info("afterwards");  // by who says it
  EXPECT_THAT(unread.Read(), testing::HasSubstr("afterwards"));
  log::CountDroppedIn(nullptr);
}

TEST(LogDeathTest, AnEndDoesNotWaitForAReader) {
  EXPECT_EXIT(
      {
        const UnreadStderr unread;
        {
          const log::LogWriter background;
          for (int i = 0; i < 100; ++i) log::Info(std::string(1000, 'x'));
        }
        std::exit(7);
      },
      testing::ExitedWithCode(7), "");
}

TEST(Log, LevelsAreReadByName) {
  EXPECT_EQ(*log::ParseLevel("debug"), log::Level::kDebug);
  EXPECT_EQ(*log::ParseLevel("info"), log::Level::kInfo);
  EXPECT_EQ(*log::ParseLevel("warn"), log::Level::kWarn);
  EXPECT_EQ(*log::ParseLevel("error"), log::Level::kError);
  EXPECT_EQ(ViolationsOf(log::ParseLevel("INFO").status()).size(), 1u);
  EXPECT_FALSE(log::ParseLevel("").ok());
}

TEST(Utf8, EachMaximalBadPartBecomesOneReplacement) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(ReplaceInvalidUtf8("plain \xED\x95\x9C"), "plain \xED\x95\x9C");
  EXPECT_EQ(ReplaceInvalidUtf8("\xE1\x80"), r);  // cut off: one part
  EXPECT_EQ(ReplaceInvalidUtf8("\xF0\x80\x80\x41"), r + r + r + "A");
  EXPECT_EQ(ReplaceInvalidUtf8("\xED\xA0\x80"), r + r + r);  // a surrogate
  EXPECT_EQ(ReplaceInvalidUtf8("\xF1\x80\x80\xE1\x80\xC2"
                               "b"),
            r + r + r + "b");
  EXPECT_EQ(ReplaceInvalidUtf8(""), "");
}

}  // namespace
}  // namespace winnow
