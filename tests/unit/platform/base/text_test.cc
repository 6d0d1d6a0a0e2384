#include "services/platform/base/text.h"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <random>

#include "services/platform/base/utf8.h"

namespace winnow {
namespace {

const std::string kReplacement = "\xEF\xBF\xBD";

// Texts of pieces that matter to one of the rules, some of them broken.
std::string RandomText(std::mt19937_64& random) {
  static const std::vector<std::string> pieces = {"<",
                                                  ">",
                                                  "<b>",
                                                  "</b>",
                                                  "<!--",
                                                  "-->",
                                                  "<script>",
                                                  "</script>",
                                                  "<style",
                                                  "]]>",
                                                  "<![CDATA[",
                                                  "\"",
                                                  "'",
                                                  "=",
                                                  "&",
                                                  "&amp;",
                                                  "&#39;",
                                                  "&#x",
                                                  "&#",
                                                  ";",
                                                  "&quot",
                                                  "&nbsp;",
                                                  "a",
                                                  "B",
                                                  " ",
                                                  "\n",
                                                  "\u00A0",
                                                  "\u3000",
                                                  "한",
                                                  "각",
                                                  "ﬁ",
                                                  "Ａ",
                                                  "é",
                                                  "\u0301",
                                                  "ß",
                                                  "ı",
                                                  "\xFF",
                                                  "\xE1\x80",
                                                  "\xED\xA0\x80",
                                                  "1",
                                                  "/",
                                                  "!",
                                                  "?",
                                                  "-",
                                                  "x",
                                                  "\u1100",
                                                  "\u1161",
                                                  "😀",
                                                  std::string("\0", 1)};
  std::string text;
  for (size_t i = random() % 24; i > 0; --i) text += pieces[random() % pieces.size()];
  return text;
}

std::string RandomBytes(std::mt19937_64& random) {
  std::string bytes(random() % 64, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

template <typename F>
void ForRandomTexts(F check) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 10'000; ++i) check(i % 2 == 0 ? RandomText(random) : RandomBytes(random));
}

TEST(Text, Utf8IsCheckedStrictly) {
  EXPECT_TRUE(IsValidUtf8(""));
  EXPECT_TRUE(IsValidUtf8("한글 \U0001F600"));
  EXPECT_FALSE(IsValidUtf8("\xC0\x80"));      // overlong
  EXPECT_FALSE(IsValidUtf8("\xED\xA0\x80"));  // surrogate
  EXPECT_FALSE(IsValidUtf8("\xF4\x90\x80\x80"));
  EXPECT_FALSE(IsValidUtf8("\xE1\x80"));
}

TEST(Text, CharactersAreCodePointsAndBadPartsCountOne) {
  EXPECT_EQ(CountCharacters(""), 0u);
  EXPECT_EQ(CountCharacters("abc"), 3u);
  EXPECT_EQ(CountCharacters("한글😀"), 3u);
  EXPECT_EQ(CountCharacters("e\u0301"), 2u);
  EXPECT_EQ(CountCharacters("a\xE1\x80z"), 3u);
  EXPECT_EQ(CountCharacters("\xFF\xFF"), 2u);
}

TEST(Html, ReferencesBecomeWhatTheyStandFor) {
  EXPECT_EQ(UnescapeHtml("Q&amp;A &lt;b&gt; &quot;x&quot; &#39;y&#39; &apos;"),
            "Q&A <b> \"x\" 'y' '");
  EXPECT_EQ(UnescapeHtml("&lsquo;한국&rsquo;&middot;&hellip;"), "‘한국’·…");
  EXPECT_EQ(UnescapeHtml("&thetasym;&nbsp;&Eacute;&eacute;"), "ϑ\u00A0Éé");
  EXPECT_EQ(UnescapeHtml("&#54620;&#xD55C;&#Xd55c;&#128512;"), "한한한😀");
}

TEST(Html, ReferencesAreReadOnce) {
  EXPECT_EQ(UnescapeHtml("&amp;quot;"), "&quot;");
  EXPECT_EQ(UnescapeHtml("&amp;amp;amp;"), "&amp;amp;");
}

TEST(Html, TextsThatWereEscapedOnceOrTwiceAreUnescaped) {
  for (const auto& [escaped, plain] : std::initializer_list<std::array<std::string, 2>>{
           {"[책&amp;생각] 띠지", "[책&생각] 띠지"},
           {"&amp;quot;재발 방지&amp;quot;", "\"재발 방지\""},
           {"it&amp;#39;s", "it's"},
           {"it&#038;#8217;s &#x26;hellip;", "it’s …"},
           {"R&D &amp;lsquo;x&amp;rsquo; R&", "R&D ‘x’ R&"},  // a bare ampersand is not a reference
           {"a &amp;lt; b", "a < b"},
           {"AT&amp;amp;T", "AT&T"},
       }) {
    EXPECT_EQ(UnescapeHtmlLayers(escaped), plain);
  }
}

TEST(Html, ReferencesThatATextIsAboutAreKept) {
  EXPECT_EQ(UnescapeHtmlLayers("Write &lt;p&gt; as &amp;lt;p&amp;gt;"), "Write <p> as &lt;p&gt;");
  EXPECT_EQ(UnescapeHtmlLayers("&quot;&amp;amp;&quot; in HTML"), "\"&amp;\" in HTML");
  EXPECT_EQ(UnescapeHtmlLayers("&amp;amp;amp;amp;"), "&amp;amp;");  // two layers at most
}

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else {
      out += c;
    }
  }
  return out;
}

// The oracle: escaping is undone, once or twice. Texts that hold references of their own are the
// ambiguous ones; those are read right where something else in them was escaped too.
TEST(Html, UnescapingUndoesEscapingOnceAndTwice) {
  int texts = 0;
  ForRandomTexts([&](const std::string& random) {
    const std::string text = ReplaceInvalidUtf8(random);
    const bool has_references = UnescapeHtml(text) != text;
    const bool has_others = text.find_first_of("<\"'") != text.npos;
    if (!has_references) {
      ++texts;
      ASSERT_EQ(UnescapeHtmlLayers(text), text);
      ASSERT_EQ(UnescapeHtmlLayers(EscapeHtml(text)), text);
      ASSERT_EQ(UnescapeHtmlLayers(EscapeHtml(EscapeHtml(text))), text);
    } else if (has_others) {
      ASSERT_EQ(UnescapeHtmlLayers(EscapeHtml(text)), text) << ::testing::PrintToString(text);
    }
  });
  EXPECT_GT(texts, 5'000);
}

TEST(Html, NumbersNeedNoSemicolonAndNamesDo) {
  EXPECT_EQ(UnescapeHtml("it&#39s &#x27"), "it's '");
  EXPECT_EQ(UnescapeHtml("?a=1&copy=2&lt"), "?a=1&copy=2&lt");
}

TEST(Html, WhatIsNoReferenceStays) {
  for (const char* text : {"&", "&&", "&;", "&#", "&#;", "&#x;", "&#xg;", "& amp;", "AT&T", "a & b",
                           "&nosuchname;", "&AMP", "&verylongnamethatnevercomes;"}) {
    EXPECT_EQ(UnescapeHtml(text), text);
  }
}

TEST(Html, NumbersThatAreNoCharactersAreReplaced) {
  EXPECT_EQ(UnescapeHtml("&#0;"), kReplacement);
  EXPECT_EQ(UnescapeHtml("&#xD800;&#x110000;"), kReplacement + kReplacement);
  EXPECT_EQ(UnescapeHtml("&#99999999999999999999999;"), kReplacement);
}

TEST(Html, OldWindowsNumbersAreTheirQuotes) {
  EXPECT_EQ(UnescapeHtml("&#145;a&#146; &#150; &#x80;"), "‘a’ – €");
}

TEST(Html, TagsBecomeSpaces) {
  EXPECT_EQ(StripHtml("<b>한국</b>은행"), " 한국 은행");
  EXPECT_EQ(StripHtml("a<br/>b<BR>c"), "a b c");
  EXPECT_EQ(StripHtml("<a href=\"x>y\" title='p>q'>text</a>"), " text ");
  EXPECT_EQ(StripHtml("a<!doctype html>b<?xml ?>c"), "a b c");
}

TEST(Html, ScriptStyleAndCommentsGoWithWhatTheyHold) {
  EXPECT_EQ(StripHtml("a<script>if (a<b) x('</b>')</script>b"), "a b");
  EXPECT_EQ(StripHtml("a<STYLE type=x>p{}</Style >b"), "a b");
  EXPECT_EQ(StripHtml("a<!-- <b>x</b> - -- -->b"), "a b");
  EXPECT_EQ(StripHtml("a<!-->b"), "a b");
  EXPECT_EQ(StripHtml("a<scripted>b</scripted>"), "a b ");
}

TEST(Html, CdataIsText) { EXPECT_EQ(StripHtml("<![CDATA[a <b>b</b>]]>"), " a  b  "); }

TEST(Html, WhatIsNoMarkupStays) {
  for (const char* text :
       {"1 < 2 > 0", "<3", "<서울신문>", "a <", "<", "</", "</ b>", "<>", "]]", ""}) {
    EXPECT_EQ(StripHtml(text), text);
  }
}

TEST(Html, WhatIsNeverClosedGoes) {
  EXPECT_EQ(StripHtml("a<b href="), "a ");
  EXPECT_EQ(StripHtml("a<!-- b"), "a ");
  EXPECT_EQ(StripHtml("a<script>b"), "a ");
  EXPECT_EQ(StripHtml("a<b title=\"x>y"), "a y");  // a quote that is never closed is none
}

TEST(Html, StrippingTwiceChangesNothing) {
  ForRandomTexts([](const std::string& text) {
    const std::string once = StripHtml(text);
    ASSERT_EQ(StripHtml(once), once) << ::testing::PrintToString(text);
    ASSERT_TRUE(IsValidUtf8(once));
    ASSERT_TRUE(IsValidUtf8(UnescapeHtml(text)));
  });
}

TEST(Html, LongNestsOfMarkupAreReadInOnePass) {
  // Each of these would take hours if it were quadratic.
  for (const std::string piece : {"<a \"", "<a ='", "<!--", "<script", "</script", "&#", "&amp"}) {
    std::string text;
    while (text.size() < 1'000'000) text += piece;
    StripHtml(text);
    UnescapeHtml(text);
    UnescapeHtmlLayers(text);
  }
}

TEST(Nfkc, WidthLigaturesAndCaseAreMadeEqual) {
  EXPECT_EQ(NormalizeNfkcCaseFold("ABC xyz 09"), "abc xyz 09");
  EXPECT_EQ(NormalizeNfkcCaseFold("ＡＢＣ１２３"), "abc123");
  EXPECT_EQ(NormalizeNfkcCaseFold("ﬁnance ㈜ ㎏"), "finance (주) kg");
  EXPECT_EQ(NormalizeNfkcCaseFold("Straße ÉCOLE"), "strasse école");
  EXPECT_EQ(NormalizeNfkcCaseFold("e\u0301"), "é");
  EXPECT_EQ(NormalizeNfkcCaseFold("\u1112\u1161\u11AB"), "한");  // conjoining jamo
  EXPECT_EQ(NormalizeNfkcCaseFold("a\u00ADb\u200Bc"), "abc");    // soft hyphen, zero width space
}

TEST(Nfkc, NormalizingTwiceChangesNothing) {
  ForRandomTexts([](const std::string& text) {
    const std::string once = NormalizeNfkcCaseFold(text);
    ASSERT_EQ(NormalizeNfkcCaseFold(once), once) << ::testing::PrintToString(text);
    ASSERT_TRUE(IsValidUtf8(once));
  });
}

TEST(Whitespace, RunsBecomeOneSpaceAndTheEndsNone) {
  EXPECT_EQ(CollapseWhitespace("  a \t\r\n b  "), "a b");
  EXPECT_EQ(CollapseWhitespace("\u3000한국\u00A0\u2003은행\u2028"), "한국 은행");
  EXPECT_EQ(CollapseWhitespace("\u0085a\u1680b\u202Fc\u205Fd"), "a b c d");
  EXPECT_EQ(CollapseWhitespace(" \n "), "");
  EXPECT_EQ(CollapseWhitespace(""), "");
  EXPECT_EQ(CollapseWhitespace("a\u200Bb"), "a\u200Bb");  // zero width space is none by Unicode
}

TEST(Whitespace, CollapsingTwiceChangesNothing) {
  ForRandomTexts([](const std::string& text) {
    const std::string once = CollapseWhitespace(text);
    ASSERT_EQ(CollapseWhitespace(once), once) << ::testing::PrintToString(text);
    ASSERT_EQ(once.find("  "), std::string::npos);
    ASSERT_TRUE(IsValidUtf8(once));
  });
}

TEST(Language, AQuarterOfHangulIsKorean) {
  EXPECT_EQ(GuessLanguage("한국은행 기준금리 동결"), "ko");
  EXPECT_EQ(GuessLanguage("BTS 신곡 빌보드"), "ko");
  EXPECT_EQ(GuessLanguage("한abc"), "ko");
  EXPECT_EQ(GuessLanguage("한abcd"), "en");
}

TEST(Language, MostlyLatinIsEnglishAndTheRestIsUndetermined) {
  EXPECT_EQ(GuessLanguage("Fed holds rates"), "en");
  EXPECT_EQ(GuessLanguage("日本銀行"), "und");
  EXPECT_EQ(GuessLanguage("ab日本"), "und");
  EXPECT_EQ(GuessLanguage("Москва"), "und");
  EXPECT_EQ(GuessLanguage(""), "und");
  EXPECT_EQ(GuessLanguage("123 !? \xFF"), "und");
}

TEST(Slug, TakesLowerCaseDigitsAndHyphensUpTo64) {
  EXPECT_TRUE(IsSlug("a"));
  EXPECT_TRUE(IsSlug("world-news-2"));
  EXPECT_TRUE(IsSlug(std::string(64, 'x')));
  EXPECT_FALSE(IsSlug(""));
  EXPECT_FALSE(IsSlug(std::string(65, 'x')));
  EXPECT_FALSE(IsSlug("World"));
  EXPECT_FALSE(IsSlug("a b"));
  EXPECT_FALSE(IsSlug("경제"));
}

}  // namespace
}  // namespace winnow
