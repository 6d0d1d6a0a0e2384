#include "services/dedup/api/convert.h"
#include "services/dedup/text/boilerplate.h"
#include "services/dedup/text/embedded_text_rules.h"
#include "services/dedup/text/hanja_table.h"
#include "services/dedup/text/token_order.h"
#include "services/dedup/text/unicode.h"
#include "services/platform/base/text.h"
#include "services/platform/base/utf8.h"
#include "tests/fuzz/targets.h"

namespace winnow::fuzz {
namespace {

using namespace dedup;

const TextRules& Rules() {
  static const TextRules kRules = LoadTextRules().value();
  return kRules;
}

constexpr std::string_view kTitleSeeds[] = {"[서울=뉴시스] 홍길동 기자 = 정부가 대책을 냈다",
                                            "(서울=연합뉴스) 홍길동·김철수 기자 =",
                                            "【단독】<속보> (종합2보) [포토]",
                                            "무단 전재-재배포 금지 quot;&amp;quot;",
                                            "hong@example.co.kr https://example.com/a?b=1에서 www.",
                                            "Rates rise - Reuters | BBC News",
                                            "속보: 尹 美·中 與野 ㆍ女",
                                            "[[[((((<<<",
                                            "홍길동기자="};

// What is compared is valid, and nothing but letters and digits with single spaces between.
void FuzzTitle(std::string_view bytes) {
  const std::string normal = Rules().normalizer().Normalize(bytes);
  FUZZ_CHECK(IsValidUtf8(normal));
  bool was_space = true;
  for (const char32_t point : DecodeUtf8(normal)) {
    FUZZ_CHECK(point == U' ' ? !was_space : IsLetterOrDigit(point));
    was_space = point == U' ';
  }
  FUZZ_CHECK(normal.empty() || !was_space);
  const Fingerprint print = Rules().Of(bytes, bytes, "https://example.com/");
  FUZZ_CHECK(print.title.empty() == normal.empty());
  FUZZ_CHECK((print.title_hash == 0) == normal.empty());
  for (size_t i = 1; i < print.title.size(); ++i) FUZZ_CHECK(print.title[i - 1] < print.title[i]);
  FUZZ_CHECK(CountCharacters(Rules().NormalizedLead(bytes)) <= kLeadCharacters);
}

void FuzzUnicode(std::string_view bytes) {
  FUZZ_CHECK(EncodeUtf8(DecodeUtf8(bytes)) == ReplaceInvalidUtf8(bytes));
}

constexpr std::string_view kTableSeeds[] = {"tag 속보\nrole 기자\nphrase 무단전재 금지\n",
                                            "literal quot;\nsuffix reuters\nprefix live\n",
                                            "# 주석\n\nagency 뉴시스\r\n",
                                            "美 미\n日 일\n",
                                            "version 3\n가나다\n=ai\n",
                                            "version 18446744073709551616\n"};

// Whatever reads can be used; whatever does not says where.
void FuzzTables(std::string_view bytes) {
  const auto is_told = [](const Status& status) {
    for (const Violation& violation : ViolationsOf(status)) {
      if (!violation.field.empty() && !violation.description.empty()) return true;
    }
    return false;
  };
  const auto boilerplate = Boilerplate::Parse(bytes);
  if (boilerplate.ok()) boilerplate->Remove(U"[속보] 홍길동 기자 = a - reuters");
  FUZZ_CHECK(boilerplate.ok() || is_told(boilerplate.status()));
  const auto hanja = HanjaTable::Parse(bytes);
  if (hanja.ok()) hanja->ReadingOf(U'美');
  FUZZ_CHECK(hanja.ok() || is_told(hanja.status()));
  const auto order = TokenOrder::Parse(bytes);
  FUZZ_CHECK(order.ok() ? order->version() > 0 : is_told(order.status()));
}

constexpr std::string_view kPageSeeds[] = {"AgMAAAAAAAAAAG4", "Zg", "--__"};

void FuzzDuplicatesToken(std::string_view bytes) {
  v1::ListDuplicatesRequest request;
  request.set_original_id("a");
  request.set_page_token(std::string(bytes));
  const auto query = FromProto(request);
  FUZZ_CHECK(query.ok() || query.status().code() == StatusCode::kInvalidArgument);
}

constexpr Target kTargets[] = {{"dedup_title", FuzzTitle, kTitleSeeds},
                               {"dedup_unicode", FuzzUnicode, kTitleSeeds},
                               {"dedup_tables", FuzzTables, kTableSeeds},
                               {"dedup_page_token", FuzzDuplicatesToken, kPageSeeds}};

}  // namespace

std::span<const Target> DedupTargets() { return kTargets; }

}  // namespace winnow::fuzz
