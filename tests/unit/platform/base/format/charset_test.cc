#include "services/platform/base/format/charset.h"

#include <gtest/gtest.h>
#include <iconv.h>

#include "services/platform/base/format/xml.h"
#include "services/platform/base/text.h"

namespace winnow {
namespace {

// By glibc, which knows nothing of ours.
std::string Iconv(const char* to, std::string text) {
  const iconv_t converter = iconv_open(to, "UTF-8");
  std::string out(text.size() * 4 + 4, '\0');
  char* from = text.data();
  size_t left = text.size();
  char* into = out.data();
  size_t room = out.size();
  EXPECT_EQ(iconv(converter, &from, &left, &into, &room), 0U) << to;
  iconv_close(converter);
  out.resize(out.size() - room);
  return out;
}

TEST(Charset, WhatIconvWritesIsRead) {
  const std::string korean = "똠방각하 펲시콜라, 한국의 뉴스";
  const std::string bytes = Iconv("CP949", korean);
  for (const char* name : {"euc-kr", "EUC-KR", " ks_c_5601-1987 ", "cp949", "windows-949"}) {
    EXPECT_EQ(DecodeToUtf8(bytes, name), korean) << name;
  }
  EXPECT_EQ(DecodeToUtf8(Iconv("EUC-JP", "日本"), "euc-jp"), "日本");
  EXPECT_EQ(DecodeToUtf8(Iconv("UTF-16LE", korean), "utf-16"), korean);
  EXPECT_EQ(DecodeToUtf8("caf\xE9 \x93q\x94", "iso-8859-1"), "café “q”");
  EXPECT_FALSE(DecodeToUtf8("x", "klingon"));
  EXPECT_FALSE(DecodeToUtf8("x", ""));
}

TEST(Charset, WhatIsBrokenIsReplacedAndNeverInvalid) {
  for (const char* name : {"utf-8", "euc-kr", "utf-16le", "shift_jis", "gb2312"}) {
    const auto text = DecodeToUtf8("a\xFF\x80\xFE\xC0z\x81", name);
    ASSERT_TRUE(text) << name;
    EXPECT_TRUE(IsValidUtf8(*text)) << name;
  }
}

TEST(Charset, WebTextIsReadByTheStrongestWord) {
  const std::string bytes = Iconv("CP949", "한국");
  EXPECT_EQ(DecodeWebText("\xEF\xBB\xBF한국", "euc-kr", "euc-kr"), "한국");
  EXPECT_EQ(DecodeWebText(bytes, "euc-kr", "utf-8"), "한국");
  EXPECT_EQ(DecodeWebText(bytes, "", "euc-kr"), "한국");
  EXPECT_EQ(DecodeWebText(bytes, "", ""), "한국");
  EXPECT_EQ(DecodeWebText(bytes, "klingon", ""), "한국");
  EXPECT_EQ(DecodeWebText("한국", "", "euc-kr"), "한국");
  EXPECT_EQ(DecodeWebText("한국", "", ""), "한국");
}

TEST(Charset, ItsNameIsTakenFromAContentType) {
  EXPECT_EQ(CharsetOfContentType("text/html; charset=EUC-KR"), "euc-kr");
  EXPECT_EQ(CharsetOfContentType("text/html;charset = \"utf-8\"; x=y"), "utf-8");
  EXPECT_EQ(CharsetOfContentType("text/html"), "");
  EXPECT_EQ(CharsetOfContentType("charset="), "");
}

TEST(Xml, HasLimits) {
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "<a>";
  const auto cut = ParseXml(deep, "", {.max_depth = 5});
  ASSERT_TRUE(cut.ok()) << cut.status();
  int depth = 0;
  for (const XmlNode* node = &*cut; node != nullptr; node = node->Child("a")) ++depth;
  EXPECT_EQ(depth, 5);
  EXPECT_FALSE(ParseXml("<a><b/><b/><b/></a>", "", {.max_nodes = 3}).ok());
  EXPECT_FALSE(ParseXml("<a>12345</a>", "", {.max_bytes = 5}).ok());
  EXPECT_FALSE(ParseXml("", "").ok());
}

TEST(Xml, NamesAndTextsAreTold) {
  const auto root = ParseXml(
      "<r xmlns:m='urn:m' x='1 &amp; 2'><m:c>a<![CDATA[<b>]]></m:c><q:d>&lt;</q:d></r>", "");
  ASSERT_TRUE(root.ok()) << root.status();
  EXPECT_EQ(root->Attribute("x"), "1 & 2");
  ASSERT_EQ(root->children.size(), 2U);
  EXPECT_EQ(root->children[0].ns, "urn:m");
  EXPECT_EQ(root->children[0].text, "a<b>");
  EXPECT_EQ(root->children[1].prefix, "q");
  EXPECT_EQ(root->children[1].name, "d");
  EXPECT_EQ(root->children[1].text, "<");
}

}  // namespace
}  // namespace winnow
