#include "services/collector/sources/head_scanner.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

namespace winnow::collector {
namespace {

const std::string kPage = "https://outlet.example/news/1";

std::string ImageOf(std::string_view html, const std::string& charset = "", size_t piece = 7) {
  HeadScanner scanner;
  while (!html.empty() && scanner.Feed(html.substr(0, piece))) {
    html.remove_prefix(std::min(piece, html.size()));
  }
  return scanner.Image(kPage, charset);
}

TEST(HeadScanner, FindsThePictureInAnySpelling) {
  const std::string found = "https://img.example/a.jpg?x=1&y=2";
  for (
      const char* html : {
          R"(<head><meta property="og:image" content="https://img.example/a.jpg?x=1&amp;y=2"/>)",
          R"(<META CONTENT='https://img.example/a.jpg?x=1&y=2' NAME='og:image'>)",
          "<meta property=og:image content=https://img.example/a.jpg?x=1&y=2>",
          "<meta\n  property = \"og:image\"\n  content = \"//img.example/a.jpg?x=1&#38;y=2\" >",
          R"(<meta property="og:image:secure_url" content="https://img.example/a.jpg?x=1&y=2">)",
          R"(<meta name="twitter:image" content="https://img.example/a.jpg?x=1&y=2">)",
          R"(<link rel="image_src" href="https://img.example/a.jpg?x=1&y=2">)",
          R"(<script type="application/ld+json">{"@graph":[{"@type":"NewsArticle","image":
              {"url":"https://img.example/a.jpg?x=1&y=2"}}]}</script>)",
          R"(<script type="application/ld+json">{"image":["https://img.example/a.jpg?x=1&y=2"]}
              </script>)",
          R"(<base href="https://img.example/b/"><meta property="og:image" content="../a.jpg?x=1&y=2">)",
      }) {
    for (const size_t piece : {size_t{1}, size_t{9}, size_t{100'000}}) {
      EXPECT_EQ(ImageOf(html, "", piece), found) << html;
    }
  }
}

TEST(HeadScanner, TheFirstAndBestCounts) {
  EXPECT_EQ(
      ImageOf("<meta name='twitter:image' content='/t.jpg'>"
              "<meta property='og:image' content=''><meta property='og:image' content='/1.jpg'>"
              "<meta property='og:image' content='/2.jpg'></head>"),
      "https://outlet.example/1.jpg");
}

TEST(HeadScanner, ThePictureWithTheLowestNumberCountsWhereNoneIsPlain) {
  const std::string numbered =
      "<meta property='og:image10' content='/10.jpg'><meta property='og:image2' content='/2.jpg'>"
      "<meta property='og:image1' content=''><meta name='OG:Image3' content='/3.jpg'>";
  EXPECT_EQ(ImageOf(numbered + "</head>"), "https://outlet.example/2.jpg");
  EXPECT_EQ(ImageOf(numbered + "<meta property='og:image:1' content='/1.jpg'></head>"),
            "https://outlet.example/1.jpg");
  EXPECT_EQ(ImageOf("<meta name='twitter:image' content='/t.jpg'>" + numbered + "</head>"),
            "https://outlet.example/2.jpg");
  EXPECT_EQ(ImageOf(numbered + "<meta property='og:image:url' content='/u.jpg'></head>"),
            "https://outlet.example/u.jpg");
  EXPECT_EQ(ImageOf(numbered + "<meta property='og:image' content='/0.jpg'></head>"),
            "https://outlet.example/0.jpg");
  for (const char* name : {"og:image:width", "og:image:height1", "og:images1", "og:image1x",
                           "og:image-1", "og:image99999999999"}) {
    EXPECT_EQ(ImageOf("<meta property='" + std::string(name) + "' content='/x.jpg'></head>"), "");
  }
}

TEST(HeadScanner, WhatIsNoPictureIsNone) {
  for (const char* html :
       {"", "<head></head>", "<!-- <meta property='og:image' content='/a.jpg'> -->",
        "<script>var a = \"<meta property='og:image' content='/a.jpg'>\";</script>",
        "<meta property='og:image' content='data:image/png;base64,xxx'>",
        "<meta property='og:image' content='javascript:alert(1)'>",
        "<meta property='og:image:width' content='600'>",
        "<meta property='og:image' content='/a"}) {
    EXPECT_EQ(ImageOf(html), "") << html;
  }
}

TEST(HeadScanner, ReadsNoFurtherThanItMust) {
  HeadScanner early;
  EXPECT_TRUE(early.Feed("<head><meta property='og:image' content='/a.jpg'>"));
  EXPECT_FALSE(early.Feed("</head>"));
  HeadScanner late;
  EXPECT_TRUE(late.Feed("<head></head><body>"));
  EXPECT_FALSE(late.Feed("<meta property='og:image' content='/a.jpg'>"));
  HeadScanner endless;
  size_t fed = 0;
  while (endless.Feed(std::string(10'000, 'x'))) fed += 10'000;
  EXPECT_LE(fed, kMaxHeadBytes);
  EXPECT_EQ(endless.bytes(), kMaxHeadBytes);
}

TEST(HeadScanner, KoreanPagesAreRead) {
  // "/사진 똠.jpg" in CP949, of which the last letter is beyond EUC-KR.
  const std::string path = "/\xBB\xE7\xC1\xF8\x8C\x63.jpg";
  const std::string tag = "<meta property='og:image' content='" + path + "'></head>";
  const std::string expected = "https://outlet.example/%ec%82%ac%ec%a7%84%eb%98%a0.jpg";
  EXPECT_EQ(ImageOf("<meta charset='euc-kr'>" + tag), expected);
  EXPECT_EQ(
      ImageOf("<meta http-equiv='Content-Type' content='text/html; charset=ks_c_5601-1987'>" + tag),
      expected);
  EXPECT_EQ(ImageOf(tag, "EUC-KR"), expected);
  EXPECT_EQ(ImageOf(tag), expected);
}

// Real pages, where WINNOW_DATA or ../shared/data has them.
std::string ReadGzip(const std::filesystem::path& path) {
  const gzFile file = gzopen(path.c_str(), "rb");
  std::string out;
  char buffer[65'536];
  for (int got = 0; file != nullptr && (got = gzread(file, buffer, sizeof buffer)) > 0;) {
    out.append(buffer, static_cast<size_t>(got));
  }
  if (file != nullptr) gzclose(file);
  return out;
}

TEST(HeadScannerOnRealPages, EveryPageThatHasAPictureHasItFound) {
  const char* given = std::getenv("WINNOW_DATA");
  const std::filesystem::path folder =
      std::filesystem::path(given != nullptr ? given : "../shared/data") / "html";
  if (!std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "not run: WINNOW_DATA holds no pages";
  }
  int pages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".gz") continue;
    const std::string html = ReadGzip(entry.path());
    std::string lower = html;
    std::transform(lower.begin(), lower.end(), lower.begin(), ::tolower);
    const bool has = lower.find("og:image") != std::string::npos ||
                     lower.find("twitter:image") != std::string::npos ||
                     lower.find("image_src") != std::string::npos;
    if (!has) continue;
    ++pages;
    EXPECT_NE(ImageOf(html, "", 16'384), "") << entry.path().filename();
  }
  EXPECT_GE(pages, 88);
  std::cout << pages << " pages name a picture\n";
}

}  // namespace
}  // namespace winnow::collector
