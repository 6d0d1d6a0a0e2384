#include "services/platform/base/page_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "services/platform/base/base64url.h"

namespace winnow {
namespace {

using ::testing::HasSubstr;

constexpr uint8_t kKind = 3;
constexpr uint64_t kFilters = 0x1122334455667788;

std::string MakeToken() {
  return PageTokenWriter(kKind, kFilters).Add(int64_t{-5}).Add(std::string_view("id-1")).Finish();
}

TEST(PageToken, FieldsComeBackInOrder) {
  auto reader = PageTokenReader::Parse(MakeToken(), kKind, kFilters);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_FALSE(reader->Finish().ok());
  EXPECT_EQ(*reader->ReadNumber(), -5);
  EXPECT_EQ(*reader->ReadText(), "id-1");
  EXPECT_TRUE(reader->Finish().ok());
}

TEST(PageToken, AnyFieldsComeBack) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2'000; ++round) {
    std::vector<std::variant<int64_t, std::string>> fields;
    const uint64_t filters = random();
    const auto kind = static_cast<uint8_t>(random());
    PageTokenWriter writer(kind, filters);
    for (size_t i = random() % 5; i > 0; --i) {
      if (random() % 2 == 0) {
        fields.emplace_back(static_cast<int64_t>(random()));
        writer.Add(std::get<int64_t>(fields.back()));
      } else {
        std::string text(random() % 40, '\0');
        for (char& c : text) c = static_cast<char>(random());
        writer.Add(std::string_view(text));
        fields.emplace_back(std::move(text));
      }
    }
    auto reader = PageTokenReader::Parse(writer.Finish(), kind, filters);
    ASSERT_TRUE(reader.ok());
    for (const auto& field : fields) {
      if (const auto* number = std::get_if<int64_t>(&field)) {
        ASSERT_EQ(*reader->ReadNumber(), *number);
      } else {
        ASSERT_EQ(*reader->ReadText(), std::get<std::string>(field));
      }
    }
    ASSERT_TRUE(reader->Finish().ok());
  }
}

TEST(PageToken, ErrorsSayWhatIsWrong) {
  const std::string token = MakeToken();
  const auto why = [](const StatusOr<PageTokenReader>& reader) {
    EXPECT_EQ(ReasonOf(reader.status()), Reason::kInvalidPageToken);
    EXPECT_EQ(ViolationsOf(reader.status()).at(0).field, "page_token");
    return Message(reader.status());
  };
  EXPECT_THAT(why(PageTokenReader::Parse(token, kKind + 1, kFilters)), HasSubstr("another list"));
  EXPECT_THAT(why(PageTokenReader::Parse(token, kKind, 1)), HasSubstr("other filters"));
  EXPECT_THAT(why(PageTokenReader::Parse("", kKind, kFilters)), HasSubstr("malformed"));
  EXPECT_THAT(why(PageTokenReader::Parse("not a token", kKind, kFilters)), HasSubstr("malformed"));
  EXPECT_THAT(why(PageTokenReader::Parse(token + "A", kKind, kFilters)), HasSubstr("malformed"));
  EXPECT_THAT(why(PageTokenReader::Parse(std::string(100'000, 'A'), kKind, kFilters)),
              HasSubstr("malformed"));
}

TEST(PageToken, AnyChangedCharacterIsNoticed) {
  const std::string token = MakeToken();
  for (size_t i = 0; i < token.size(); ++i) {
    for (const char c : {'A', 'z', '-', '_', '7', '=', '+', '\0', '\xFF'}) {
      if (token[i] == c) continue;
      std::string changed = token;
      changed[i] = c;
      EXPECT_FALSE(PageTokenReader::Parse(changed, kKind, kFilters).ok()) << i << c;
    }
  }
}

TEST(PageToken, AFieldOfAnotherTypeIsMalformed) {
  auto reader = PageTokenReader::Parse(MakeToken(), kKind, kFilters);
  EXPECT_EQ(ReasonOf(reader->ReadText().status()), Reason::kInvalidPageToken);
  EXPECT_TRUE(reader->ReadNumber().ok());
  EXPECT_EQ(ReasonOf(reader->ReadNumber().status()), Reason::kInvalidPageToken);
  EXPECT_TRUE(reader->ReadText().ok());
  EXPECT_EQ(ReasonOf(reader->ReadNumber().status()), Reason::kInvalidPageToken);
  EXPECT_EQ(ReasonOf(reader->ReadText().status()), Reason::kInvalidPageToken);
}

TEST(Base64Url, RandomBytesComeBack) {
  std::mt19937_64 random(3);
  for (size_t size = 0; size < 300; ++size) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    EXPECT_EQ(DecodeBase64Url(EncodeBase64Url(bytes)), bytes);
  }
}

TEST(Base64Url, WhatDecodesIsWhatEncodes) {
  std::mt19937_64 random(4);
  constexpr std::string_view kCharacters = "ABab01-_=+/ ";
  for (int i = 0; i < 20'000; ++i) {
    std::string text(random() % 6, 'A');
    for (char& c : text) c = kCharacters[random() % kCharacters.size()];
    const auto bytes = DecodeBase64Url(text);
    EXPECT_EQ(EncodeBase64Url(bytes.value_or("")), bytes ? text : "");
  }
}

TEST(Base64Url, UsesTheAlphabetOfRfc4648) {
  EXPECT_EQ(EncodeBase64Url("\xFB\xEF\xFF"), "--__");
  EXPECT_EQ(EncodeBase64Url("f"), "Zg");
  EXPECT_EQ(DecodeBase64Url("Zh"), std::nullopt);  // left-over bits set: a second text for "f"
  EXPECT_EQ(DecodeBase64Url("Zg=="), std::nullopt);
}

TEST(PageSize, ZeroIsTheDefaultAndMoreThanTheMaximumIsTheMaximum) {
  EXPECT_EQ(*PageSize(0, 20, 100), 20);
  EXPECT_EQ(*PageSize(1, 20, 100), 1);
  EXPECT_EQ(*PageSize(100, 20, 100), 100);
  EXPECT_EQ(*PageSize(101, 20, 100), 100);
  EXPECT_EQ(*PageSize(INT32_MAX, 20, 100), 100);
}

TEST(PageSize, NegativeIsAViolationOfPageSize) {
  const auto size = PageSize(-1, 20, 100);
  ASSERT_FALSE(size.ok());
  EXPECT_EQ(ViolationsOf(size.status()).at(0).field, "page_size");
}

}  // namespace
}  // namespace winnow
