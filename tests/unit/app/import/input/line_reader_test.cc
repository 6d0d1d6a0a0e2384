#include "services/app/import/input/line_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "services/app/client/interrupt.h"
#include "services/app/import/input/byte_source.h"
#include "tests/support/process/temp_dir.h"

namespace winnow::app {
namespace {

using Problem = Line::Problem;

struct Read {
  int64_t number;
  std::string text;
  Problem problem;
  friend bool operator==(const Read&, const Read&) = default;
};

std::string Gzip(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  std::string in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class Lines : public testing::Test {
 protected:
  // All lines of a file with these bytes; status_ is how it ended.
  std::vector<Read> ReadAll(const std::string& bytes) {
    const std::string path = dir_.path() + "/lines";
    std::ofstream(path, std::ios::binary) << bytes;
    auto source = ByteSource::Open(path, Interrupt::Install());
    EXPECT_TRUE(source.ok()) << source.status();
    LineReader reader(**source);
    std::vector<Read> lines;
    while (const auto line = reader.Next()) {
      lines.push_back({line->number, std::string(line->text), line->problem});
    }
    status_ = reader.status();
    return lines;
  }

  test::TempDir dir_{"lines"};
  Status status_;
};

TEST_F(Lines, AreNumberedWithBlankOnesPassedOver) {
  EXPECT_EQ(
      ReadAll("one\n\n  \t\r\ntwo\r\nthree"),
      (std::vector<Read>{
          {1, "one", Problem::kNone}, {4, "two\r", Problem::kNone}, {5, "three", Problem::kNone}}));
  EXPECT_TRUE(status_.ok());
}

TEST_F(Lines, BeginBehindAByteOrderMark) {
  EXPECT_EQ(ReadAll("\xEF\xBB\xBF{}\n\xEF\xBB\xBFx\n"),
            (std::vector<Read>{{1, "{}", Problem::kNone}, {2, "\xEF\xBB\xBFx", Problem::kNone}}));
}

TEST_F(Lines, OfAnEmptyFileAreNone) {
  EXPECT_TRUE(ReadAll("").empty());
  EXPECT_TRUE(ReadAll("\n").empty());
  EXPECT_TRUE(status_.ok());
}

TEST_F(Lines, ThatAreTooLongArePassedOverWholeAndTold) {
  const std::string longest(kMaxLineBytes, 'x');
  const std::string huge(20 << 20, 'y');
  const auto lines = ReadAll("a\n" + longest + "\n" + longest + "x\n" + huge + "\nb\n" + huge);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0].text, "a");
  EXPECT_TRUE(lines[1].problem == Problem::kNone && lines[1].text == longest);
  EXPECT_EQ(lines[2], (Read{3, "", Problem::kTooLong}));
  EXPECT_EQ(lines[3], (Read{4, "", Problem::kTooLong}));
  EXPECT_EQ(lines[4], (Read{5, "b", Problem::kNone}));
  EXPECT_EQ(lines[5], (Read{6, "", Problem::kTooLong}));
}

TEST_F(Lines, OfGzipAreUnpackedWhateverTheNameIs) {
  EXPECT_EQ(ReadAll(Gzip("one\ntwo\n")),
            (std::vector<Read>{{1, "one", Problem::kNone}, {2, "two", Problem::kNone}}));
}

TEST_F(Lines, OfSeveralGzipMembersAndPaddingAreOneFile) {
  EXPECT_EQ(ReadAll(Gzip("on") + Gzip("e\ntwo\n") + std::string(700'000, '\0')),
            (std::vector<Read>{{1, "one", Problem::kNone}, {2, "two", Problem::kNone}}));
  EXPECT_TRUE(status_.ok()) << status_;
}

TEST_F(Lines, OfACutOffGzipComeAsFarAsTheyGo) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "line " + std::to_string(i * 7919 % 20'011) + "\n";
  const std::string packed = Gzip(text);
  const auto lines = ReadAll(packed.substr(0, packed.size() / 2));
  ASSERT_GT(lines.size(), 1000U);
  EXPECT_EQ(lines.front().text, "line 0");
  EXPECT_EQ(lines.back().problem, Problem::kCutOff);
  EXPECT_EQ(status_.code(), StatusCode::kDataLoss);
  EXPECT_NE(Message(status_).find("cut off"), std::string::npos) << status_;
}

TEST_F(Lines, OfADamagedGzipEndWithAnError) {
  std::string packed = Gzip("one\ntwo\nthree\n");
  packed[packed.size() - 6] ^= 0x55;  // of the checksum
  EXPECT_EQ(ReadAll(packed).size(), 3U) << "what came before it is read";
  EXPECT_EQ(status_.code(), StatusCode::kDataLoss);
  EXPECT_NE(Message(status_).find("damaged"), std::string::npos) << status_;
}

TEST_F(Lines, CutOffWithinTheGzipHeaderAreNone) {
  EXPECT_TRUE(ReadAll(Gzip("one\n").substr(0, 5)).empty());
  EXPECT_EQ(status_.code(), StatusCode::kDataLoss);
  EXPECT_EQ(ReadAll("\x1f"), (std::vector<Read>{{1, "\x1f", Problem::kNone}}));
}

TEST_F(Lines, OfAPipeThatHandsOverSingleBytesAreWhole) {
  const std::string path = dir_.path() + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] {
    const int fd = open(path.c_str(), O_WRONLY);
    for (const char byte : Gzip("one\ntwo\n")) EXPECT_EQ(write(fd, &byte, 1), 1);
    close(fd);
  });
  auto source = ByteSource::Open(path, Interrupt::Install());
  ASSERT_TRUE(source.ok());
  EXPECT_FALSE((*source)->bytes_total());
  LineReader reader(**source);
  EXPECT_EQ(reader.Next()->text, "one");
  EXPECT_EQ(reader.Next()->text, "two");
  EXPECT_FALSE(reader.Next());
  writer.join();
}

TEST(ByteSource, NamesAFileThatCannotBeRead) {
  const auto missing = ByteSource::Open("/no/such/file.jsonl", Interrupt::Install());
  EXPECT_NE(Message(missing.status()).find("/no/such/file.jsonl cannot be read: No such file"),
            std::string::npos)
      << missing.status();
  const auto folder = ByteSource::Open("/tmp", Interrupt::Install());
  EXPECT_NE(Message(folder.status()).find("is a directory"), std::string::npos);
}

}  // namespace
}  // namespace winnow::app
