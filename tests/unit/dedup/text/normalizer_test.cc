#include "services/dedup/text/normalizer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <random>
#include <string>

#include "services/dedup/text/embedded_text_rules.h"
#include "services/dedup/text/table.h"
#include "services/dedup/text/unicode.h"
#include "services/platform/base/text.h"

namespace winnow::dedup {
namespace {

std::string NormalizeAtMost(std::string_view text, size_t most) {
  static const StatusOr<Normalizer> normalizer = LoadNormalizer();
  return normalizer.value().Normalize(text, most);
}

std::string Normalize(std::string_view text) { return NormalizeAtMost(text, SIZE_MAX); }

struct Golden {
  const char* text;
  const char* normalized;
};

// Self-written texts in the forms that newsrooms use.
constexpr Golden kGolden[] = {
    // Entities, also escaped twice; a third time is meant so.
    {"&quot;물가 안정&quot; 강조", "물가 안정 강조"},
    {"&amp;quot;물가 안정&amp;quot; 강조", "물가 안정 강조"},
    {"&amp;amp;lt;물가", "lt 물가"},
    {"장관 quot;수출 늘었다quot;", "장관 수출 늘었다"},
    {"R&amp;D 예산", "r d 예산"},
    // Form: width, case, ligatures, the middle dot that is a vowel.
    {"ＧＯＬＤ　Price ﬁnally ①위", "gold price finally 1위"},
    {"서울ㆍ부산·대구・광주", "서울 부산 대구 광주"},
    {"  여러   칸\t띄움 \n", "여러 칸 띄움"},
    {"제목​속 보이지 않는 칸", "제목속 보이지 않는 칸"},
    {"🔥 화제 ★ 기획 ▲1.5%↑", "화제 기획 1 5"},
    // Markup and addresses.
    {"<b>굵은</b> 제목<br/>둘째 줄", "굵은 제목 둘째 줄"},
    {"자세히는 https://example.com/a?b=1&c=2에서 본다", "자세히는 에서 본다"},
    {"www.example.com 참조", "참조"},
    {"문의 hong.gildong@mail.example.co.kr 바람", "문의 바람"},
    {"@아이디 는 남는다", "아이디 는 남는다"},
    // Labels in brackets of all kinds, in any place.
    {"[속보] 새 대책 발표", "새 대책 발표"},
    {"【단독】새 대책 발표(종합2보)", "새 대책 발표"},
    {"<속보> 새 대책 발표 (종합)", "새 대책 발표"},
    {"새 대책 발표 [포토]", "새 대책 발표"},
    {"[인사] 가나다부", "인사 가나다부"},
    {"[오늘의 이슈] 새 대책", "오늘의 이슈 새 대책"},
    {"속보: 새 대책 발표", "새 대책 발표"},
    {"BREAKING: markets fall", "markets fall"},
    {"Breaking bad habits: a guide", "breaking bad habits a guide"},
    // Agencies, places and bylines.
    {"[서울=뉴시스] 홍길동 기자 = 정부가 대책을 냈다", "정부가 대책을 냈다"},
    {"(서울=연합뉴스) 홍길동·김철수 기자 = 정부가 대책을 냈다", "정부가 대책을 냈다"},
    {"[헤럴드경제=홍길동 기자] 정부가 대책을 냈다", "정부가 대책을 냈다"},
    {"[헤럴드경제(수원)=홍길동 선임기자]정부가 대책을 냈다", "정부가 대책을 냈다"},
    {"[파이낸셜뉴스] 정부가 대책을 냈다", "정부가 대책을 냈다"},
    {"[대구=스포츠조선 홍길동 기자] 첫 경기", "첫 경기"},
    {"[OSEN=잠실, 홍길동 기자] 첫 경기", "첫 경기"},
    {"정부가 대책을 냈다. 홍길동 기자 hong@example.com", "정부가 대책을 냈다"},
    {"정부가 대책을 냈다. [사진=연합뉴스]", "정부가 대책을 냈다"},
    {"대통령 기자회견 열어", "대통령 기자회견 열어"},
    {"어느 전직 기자의 고백", "어느 전직 기자의 고백"},
    {"[기자수첩] 남은 일", "기자수첩 남은 일"},
    // Copyright lines, in their many wordings.
    {"끝이다. 무단전재 및 재배포 금지", "끝이다"},
    {"끝이다. 무단 전재-재배포 금지", "끝이다"},
    {"끝이다. All rights reserved.", "끝이다"},
    // Outlet names.
    {"Rates rise again - Reuters", "rates rise again"},
    {"Rates rise again | BBC News", "rates rise again"},
    {"Rates rise again - CNBC | Yahoo Finance", "rates rise again"},
    {"Reuters - a short history", "reuters a short history"},
    {"금리 또 올랐다 - 연합뉴스", "금리 또 올랐다"},
    // Hanja shorthand.
    {"尹, 美·中 정상과 회담…與野 공방", "윤 미 중 정상과 회담 여야 공방"},
    {"檢, 前 장관 소환", "검 전 장관 소환"},
    {"女 선수단", "여 선수단"},  // a compatibility form of the character
    {"靑 \"北 발사체 확인\"", "청 북 발사체 확인"},
    // What is left may be nothing.
    {"[속보]", ""},
    {"...!?", ""},
    {"", ""},
};

TEST(Normalizer, MeetsItsGoldenVectors) {
  for (const Golden& golden : kGolden) {
    EXPECT_EQ(Normalize(golden.text), golden.normalized) << golden.text;
  }
}

TEST(Normalizer, IsStableOnItsOwnOutput) {
  for (const Golden& golden : kGolden) {
    if (std::string_view(golden.normalized).starts_with("lt")) continue;
    EXPECT_EQ(Normalize(golden.normalized), golden.normalized);
  }
}

TEST(Normalizer, MakesValidTextOfBadUtf8) {
  EXPECT_EQ(Normalize("가\xED\xA0\x80나\xFF다\xF0\x9F"), "가 나 다");
}

// Pieces that rules meet, and what comes apart when a text is cut within them.
std::string Mixed(std::minstd_rand& random) {
  static constexpr std::string_view kPieces[] = {"가",         "물가 ",      "美",
                                                 "尹, ",       "[속보]",     "홍길동 기자 = ",
                                                 " - Reuters", "ㆍ",         "…",
                                                 "’",          "A",          "z9 ",
                                                 "ﬁ",          "&amp;",      "<b>",
                                                 "e\u0301",    "\u1100",     "\u1161\u11A8",
                                                 "각\u11A8",   "ｗｗｗ.a",   "http://a.b/c ",
                                                 "a@b.cd",     "무단 전재",  "\xFF",
                                                 "\xEA\xB0",   "\n",         "·",
                                                 "\uFA81",     "\U0001F600", "  "};
  std::string text;
  for (auto left = random() % 40; left > 0; --left) text += kPieces[random() % std::size(kPieces)];
  return text;
}

TEST(Normalizer, CutsWhatItMakesOfTheWhole) {
  std::minstd_rand random(7);
  for (int round = 0; round < 3'000; ++round) {
    const std::string text = Mixed(random);
    const std::u32string whole = DecodeUtf8(Normalize(text));
    const size_t most = 1 + random() % 40;
    ASSERT_EQ(NormalizeAtMost(text, most), EncodeUtf8(whole.substr(0, most))) << text;
  }
}

TEST(Boilerplate, NamesTheLineOfABadRule) {
  const auto rules = Boilerplate::Parse("tag 속보\nlabel 단독\n");
  ASSERT_FALSE(rules.ok());
  EXPECT_EQ(ViolationsOf(rules.status()).front().field, "boilerplate.txt line 2");
  EXPECT_FALSE(Boilerplate::Parse("literal abc\n").ok()) << "would cut words";
  EXPECT_FALSE(Boilerplate::Parse("tag\n").ok());
}

TEST(HanjaTable, RefusesWhatIsNoHanjaAndReading) {
  EXPECT_TRUE(HanjaTable::Parse("# comment\n\n美 미\n").ok());
  for (const char* table : {"美\n", "美美 미\n", "美 us\n", "가 나\n", "美 미\n美 미\n"}) {
    EXPECT_FALSE(HanjaTable::Parse(table).ok()) << table;
  }
}

TEST(Unicode, DecodesAndEncodesEveryLength) {
  const std::u32string points = U"a\u00e9\u20ac가\U0001F600\U0010FFFF";
  EXPECT_EQ(DecodeUtf8(EncodeUtf8(points)), points);
  // Overlong forms, surrogates, numbers above the last, lone and missing continuation bytes.
  EXPECT_EQ(DecodeUtf8("\xC0\xAF"), U"\uFFFD\uFFFD");
  EXPECT_EQ(DecodeUtf8("\xE0\x80\xAF"), U"\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(DecodeUtf8("\xED\xA0\x80"), U"\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(DecodeUtf8("\xF4\x90\x80\x80"), U"\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(DecodeUtf8("\xEA\xB0z"), U"\uFFFDz");
  EXPECT_EQ(DecodeUtf8("\xEA\xB0"), U"\uFFFD");
}

// Beside a neighbour that may compose with it, a neighbour of either kind.
TEST(Unicode, FoldsEveryCharacterAsThePlatformDoes) {
  for (char32_t point = 1; point < 0x30000; ++point) {
    if (point >= 0xD800 && point <= 0xDFFF) continue;
    const std::string text = EncodeUtf8(std::u32string{U'가', point, U'K', point});
    ASSERT_EQ(DecodeFolded(text), DecodeUtf8(NormalizeNfkcCaseFold(text))) << uint32_t{point};
  }
}

TEST(Unicode, FoldsTextsAsThePlatformDoes) {
  std::minstd_rand random(8);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = Mixed(random);
    if (round % 3 == 0 && !text.empty()) text[random() % text.size()] = static_cast<char>(random());
    ASSERT_EQ(DecodeFolded(text), DecodeUtf8(NormalizeNfkcCaseFold(text))) << text;
  }
}

}  // namespace
}  // namespace winnow::dedup
