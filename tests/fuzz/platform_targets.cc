#include <array>
#include <cmath>

#include "services/platform/base/base64url.h"
#include "services/platform/base/format/json_tree.h"
#include "services/platform/base/page_token.h"
#include "services/platform/base/text.h"
#include "services/platform/base/timestamp.h"
#include "services/platform/base/url/listen_address.h"
#include "services/platform/base/url/url.h"
#include "services/platform/base/utf8.h"
#include "services/platform/base/uuid.h"
#include "services/platform/config/config.h"
#include "services/platform/grpc/call/trace_context.h"
#include "services/platform/process/log.h"
#include "services/platform/proto/timestamp.h"
#include "tests/fuzz/targets.h"

namespace winnow::fuzz {
namespace {

constexpr std::string_view kUrlSeeds[] = {"https://www.example.com/a/b?utm_source=x&id=1#f",
                                          "http://user@m.example.co.kr:8080/amp/x/",
                                          "https://example.com/1&amp;ref=rss",
                                          "https://[2001:db8::1]:443/%ED%95%9C",
                                          "https://한국.kr/가",
                                          "https://google.com/amp/s/amp.example.com/x.amp",
                                          "/../",
                                          "%2E",
                                          "&#38;",
                                          "amp;",
                                          "?a=b+c&a"};

// The canonical form is a valid one, and its own.
void FuzzUrl(std::string_view bytes) {
  const auto once = CanonicalUrl(bytes);
  if (!once.ok()) {
    const auto violations = ViolationsOf(once.status());
    FUZZ_CHECK(violations.size() == 1 && violations[0].field.empty());
    return;
  }
  FUZZ_CHECK(once->starts_with("https://") && once->find('#') == std::string::npos);
  const auto twice = CanonicalUrl(*once);
  FUZZ_CHECK(twice.ok() && *twice == *once);
}

constexpr std::string_view kTextSeeds[] = {"<p class=\"a>b\">한국은행 <b>기준금리</b></p>",
                                           "<script>x</script>",
                                           "<!-- c -->",
                                           "<![CDATA[",
                                           "]]>",
                                           "&amp;quot; &#39; &#x1F600; &hellip;",
                                           "ＡＢＣ ﬁ ㈜",
                                           "e\u0301 \u1112\u1161\u11AB",
                                           "\u3000\u00A0 \t\n",
                                           "\xED\xA0\x80\xF0\x9F\x98"};

void FuzzText(std::string_view bytes) {
  const std::string plain = StripHtml(bytes);
  FUZZ_CHECK(IsValidUtf8(plain) && StripHtml(plain) == plain);
  FUZZ_CHECK(IsValidUtf8(UnescapeHtml(bytes)));
  FUZZ_CHECK(IsValidUtf8(UnescapeHtmlLayers(bytes)));
  const std::string folded = NormalizeNfkcCaseFold(bytes);
  FUZZ_CHECK(IsValidUtf8(folded) && NormalizeNfkcCaseFold(folded) == folded);
  const std::string collapsed = CollapseWhitespace(bytes);
  FUZZ_CHECK(IsValidUtf8(collapsed) && CollapseWhitespace(collapsed) == collapsed);
  const std::string valid = ReplaceInvalidUtf8(bytes);
  FUZZ_CHECK(IsValidUtf8(valid) && (valid == bytes) == IsValidUtf8(bytes));
  FUZZ_CHECK(CountCharacters(bytes) == CountCharacters(valid));
  const std::string language = GuessLanguage(bytes);
  FUZZ_CHECK(language == "ko" || language == "en" || language == "und");
}

constexpr std::string_view kConfigSeeds[] = {
    R"({"targets": ["dedup"], "listen": "127.0.0.1:0", "insecure": true})",
    R"({"postgres": {"url": "postgres://u@h:1/d?pooling=transaction"}})",
    R"({"events": {"url": "amqp://u@h:5672/v"}, "peers": {"collector": "dns:///c:1"}})",
    R"({"calls": {"default_deadline": "2.5s"}, "dedup": {"token_threshold": 1e-1}})",
    "\"\\ud83d\\ude00\"",
    "null",
    "[[[[",
    "// c"};

// Whatever is read can be checked, and its violations have descriptions that the wire takes.
void FuzzConfig(std::string_view bytes) {
  auto config = ParseConfig(bytes, "f");
  if (config.ok()) {
    FillDefaults(*config, {.cpus = 2});
    for (const Violation& violation : ViolationsOf(CheckConfig(*config))) {
      FUZZ_CHECK(!violation.field.empty() && !violation.description.empty());
    }
    return;
  }
  const auto violations = ViolationsOf(config.status());
  FUZZ_CHECK(!violations.empty());
  for (const Violation& violation : violations) {
    FUZZ_CHECK(!violation.description.empty() && IsValidUtf8(violation.description));
  }
}

constexpr std::string_view kTokenSeeds[] = {"AQMAAAAAAAAAAG4", "Zg", "--__", "AAAA"};

void FuzzPageToken(std::string_view bytes) {
  if (const auto decoded = DecodeBase64Url(bytes)) FUZZ_CHECK(EncodeBase64Url(*decoded) == bytes);
  FUZZ_CHECK(DecodeBase64Url(EncodeBase64Url(bytes)) == bytes);
  // As if the token's checksum had been forged: the fields are read without trust.
  const std::string token = PageTokenWriter(1, 2).Add(bytes).Finish();
  auto reader = PageTokenReader::Parse(token, 1, 2);
  FUZZ_CHECK(reader.ok() == (token.size() <= 8192));
  if (reader.ok()) FUZZ_CHECK(*reader->ReadText() == bytes && reader->Finish().ok());
  auto forged = PageTokenReader::Parse(bytes, 1, 2);
  while (forged.ok() && (forged->ReadNumber().ok() || forged->ReadText().ok())) {
  }
}

constexpr std::string_view kTimeSeeds[] = {
    "2026-02-01T09:00:00.5+09:00",
    "2026-02-01 00:00:00",
    "9999-12-31T23:59:60Z",
    "0001-01-01T",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "[::1]:7400",
    "127.0.0.1:1",
    "019c167f-cc00-7000-8000-0123456789ab"};

void FuzzSmallParsers(std::string_view bytes) {
  if (const auto time = ParseTime(bytes); time.ok()) {
    FUZZ_CHECK(*ParseTime(FormatTime(*time)) == *time);
    FUZZ_CHECK(*FromTimestamp(ToTimestamp(*time)) == *time);
  }
  const std::string trace = ParseOrStartTrace(bytes).ToTraceparent();
  FUZZ_CHECK(ParseOrStartTrace(trace).ToTraceparent() == trace);
  if (const auto address = ParseListenAddress(bytes, "f"); address.ok()) {
    FUZZ_CHECK(ParseListenAddress(address->ToString(), "f").ok());
  }
  FUZZ_CHECK(!IsUuid(bytes) || bytes.size() == 36);
  FUZZ_CHECK(!IsSlug(bytes) || IsValidUtf8(bytes));
  FUZZ_CHECK(!log::ParseLevel(bytes).ok() || bytes.size() <= 5);
}

constexpr std::array<Target, 5> kTargets = {{{"url", FuzzUrl, kUrlSeeds},
                                             {"text", FuzzText, kTextSeeds},
                                             {"config", FuzzConfig, kConfigSeeds},
                                             {"page_token", FuzzPageToken, kTokenSeeds},
                                             {"small_parsers", FuzzSmallParsers, kTimeSeeds}}};

}  // namespace

std::span<const Target> PlatformTargets() { return kTargets; }

}  // namespace winnow::fuzz
