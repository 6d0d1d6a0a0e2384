#include "services/platform/base/url/url.h"

#include <gtest/gtest.h>

#include <random>

namespace winnow {
namespace {

std::string Canonical(std::string_view url) {
  const auto canonical = CanonicalUrl(url);
  return canonical.ok() ? *canonical : "error: " + Message(canonical.status());
}

struct Case {
  const char* url;
  const char* canonical;
};

void ExpectAll(const std::vector<Case>& cases) {
  for (const auto& [url, canonical] : cases) {
    EXPECT_EQ(Canonical(url), canonical) << url;
    EXPECT_EQ(Canonical(canonical), canonical) << url;
  }
}

TEST(Url, SchemeHostAndPortHaveOneForm) {
  ExpectAll({
      {"http://example.com", "https://example.com"},
      {"HTTPS://WWW.Example.COM/", "https://example.com"},
      {"http://example.com:80/a", "https://example.com/a"},
      {"https://example.com:443/a", "https://example.com/a"},
      {"https://example.com:0443/a", "https://example.com/a"},
      {"https://example.com:/a", "https://example.com/a"},
      {"https://example.com:8443/a", "https://example.com:8443/a"},
      {"https://user:p%40ss@example.com/a", "https://example.com/a"},
      {"https://user@evil@example.com/a", "https://example.com/a"},
      {"https://example.com./a", "https://example.com/a"},
      {"  https://example.com/a\n", "https://example.com/a"},
      {"https://exam\nple.com/a", "https://example.com/a"},
      {"https://my_blog.example.com/1", "https://my_blog.example.com/1"},
      {"http://localhost:8080/x", "https://localhost:8080/x"},
      {"http://192.0.2.7/x", "https://192.0.2.7/x"},
  });
}

TEST(Url, MobileAndWwwHostsAreTheSameSite) {
  ExpectAll({
      {"https://m.example.co.kr/view/1", "https://example.co.kr/view/1"},
      {"https://mobile.example.com/1", "https://example.com/1"},
      {"https://www.m.example.com/1", "https://example.com/1"},
      {"https://m.www.example.com/1", "https://example.com/1"},
      {"https://m.com/1", "https://m.com/1"},
      {"https://www.com/1", "https://www.com/1"},
      {"https://wwwexample.com/1", "https://wwwexample.com/1"},
      {"https://news.example.com/1", "https://news.example.com/1"},
  });
}

TEST(Url, Ipv6HostsKeepTheirBrackets) {
  ExpectAll({
      {"http://[::1]/a", "https://[::1]/a"},
      {"http://[2001:DB8:0:0::1]:8080/a", "https://[2001:db8::1]:8080/a"},
      {"http://[2001:db8::1]:80", "https://[2001:db8::1]"},
  });
}

TEST(Url, InternationalHostsAreAscii) {
  ExpectAll({
      {"https://한국은행.한국/뉴스", "https://xn--3e0bt30ct4jhf.xn--3e0b707e/%EB%89%B4%EC%8A%A4"},
      {"https://www.한국.kr/", "https://xn--3e0b707e.kr"},
      {"https://%ED%95%9C%EA%B5%AD.kr/", "https://xn--3e0b707e.kr"},
      {"https://XN--3E0B707E.kr/", "https://xn--3e0b707e.kr"},
      {"https://www。example。com/", "https://example.com"},
      {"https://ＥＸＡＭＰＬＥ.com/", "https://example.com"},
      {"https://bücher.example/", "https://xn--bcher-kva.example"},
  });
}

TEST(Url, PercentEncodingHasOneForm) {
  ExpectAll({
      {"https://a.kr/경제/1", "https://a.kr/%EA%B2%BD%EC%A0%9C/1"},
      {"https://a.kr/%ea%b2%bd%ec%a0%9c/1", "https://a.kr/%EA%B2%BD%EC%A0%9C/1"},
      {"https://a.kr/?q=%b0%e6%c1%a6", "https://a.kr?q=%B0%E6%C1%A6"},  // EUC-KR stays
      {"https://a.kr/%7Ejohn/%61", "https://a.kr/~john/a"},
      {"https://a.kr/a b", "https://a.kr/a%20b"},
      {"https://a.kr/a%2Fb", "https://a.kr/a%2Fb"},
      {"https://a.kr/100%", "https://a.kr/100%25"},
      {"https://a.kr/%zz%4", "https://a.kr/%25zz%254"},
      {"https://a.kr/\"<>\\^`{|}", "https://a.kr/%22%3C%3E%5C%5E%60%7B%7C%7D"},
      {"https://a.kr/?q=a+b", "https://a.kr?q=a%20b"},
      {"https://a.kr/?q=a%2Bb", "https://a.kr?q=a%2Bb"},
      {"https://a.kr/a+b", "https://a.kr/a+b"},
  });
}

TEST(Url, PathsLoseDotSegmentsFragmentsAndTrailingSlashes) {
  ExpectAll({
      {"https://a.kr/x/", "https://a.kr/x"},
      {"https://a.kr/x///", "https://a.kr/x"},
      {"https://a.kr/x/#top", "https://a.kr/x"},
      {"https://a.kr#top", "https://a.kr"},
      {"https://a.kr/a/./b/../c", "https://a.kr/a/c"},
      {"https://a.kr/../../c", "https://a.kr/c"},
      {"https://a.kr/a/%2E%2E/c", "https://a.kr/c"},
      {"https://a.kr/a/..", "https://a.kr"},
      {"https://a.kr/a//b", "https://a.kr/a//b"},
      {"https://a.kr/Case/Matters.HTML", "https://a.kr/Case/Matters.HTML"},
  });
}

TEST(Url, TrackingParametersGo) {
  ExpectAll({
      {"https://a.kr/1?utm_source=rss&utm_medium=x&utm_campaign=", "https://a.kr/1"},
      {"https://a.kr/1?UTM_Source=rss&id=7", "https://a.kr/1?id=7"},
      {"https://a.kr/1?fbclid=abc", "https://a.kr/1"},
      {"https://a.kr/1?ref=rss", "https://a.kr/1"},
      {"https://a.kr/1?rss", "https://a.kr/1"},
      {"https://a.kr/1?rss=Y&no=3", "https://a.kr/1?no=3"},
      {"https://a.kr/1?cloc=rss-news-culture", "https://a.kr/1"},
      {"https://a.kr/1?at_medium=RSS&at_campaign=rss", "https://a.kr/1"},
      {"https://a.kr/1?reference=5&refs=6", "https://a.kr/1?reference=5&refs=6"},
      {"https://a.kr/1?id=utm_source", "https://a.kr/1?id=utm_source"},
      {"https://a.kr/1?utm", "https://a.kr/1?utm"},
  });
}

TEST(Url, OtherParametersAreSortedByName) {
  ExpectAll({
      {"https://a.kr/v?b=2&a=1", "https://a.kr/v?a=1&b=2"},
      {"https://a.kr/v?id=2&id=1&a", "https://a.kr/v?a&id=2&id=1"},
      {"https://a.kr/v?&&a=1&", "https://a.kr/v?a=1"},
      {"https://a.kr/v?", "https://a.kr/v"},
      {"https://a.kr/?idxno=188140", "https://a.kr?idxno=188140"},
      {"https://a.kr/v?b+c=2&b%20c=1&b!=0", "https://a.kr/v?b!=0&b%20c=2&b%20c=1"},
      {"https://a.kr/v?a=x?y=z", "https://a.kr/v?a=x?y=z"},
  });
}

TEST(Url, EscapedAmpersandsAreAmpersands) {
  ExpectAll({
      {"https://a.kr/v?id=1&amp;ref=rss", "https://a.kr/v?id=1"},
      {"https://a.kr/v?b=1&amp;a=2", "https://a.kr/v?a=2&b=1"},
      {"https://a.kr/v?b=1&amp;amp;a=2", "https://a.kr/v?a=2&b=1"},
      {"https://a.kr/v?b=1&#038;a=2&#38;c=3&#x26;d=4", "https://a.kr/v?a=2&b=1&c=3&d=4"},
      {"https://a.kr/v?amp;a=1", "https://a.kr/v?a=1"},
      {"https://a.kr/v?x&%61mp;a=1", "https://a.kr/v?a=1&x"},
  });
}

TEST(Url, TrackingParametersWithoutAQuestionMarkGoToo) {
  ExpectAll({
      {"https://a.kr/articles/215337&amp;ref=rss", "https://a.kr/articles/215337"},
      {"https://a.kr/articles/215337&ref=rss&utm_source=x", "https://a.kr/articles/215337"},
      {"https://a.kr/articles/215337/&ref=rss", "https://a.kr/articles/215337"},
      {"https://a.kr/news/AT&T-deal", "https://a.kr/news/AT&T-deal"},
      {"https://a.kr/a&id=5", "https://a.kr/a&id=5"},
      {"https://a.kr/x/..&ref=rss", "https://a.kr/x/..&ref=rss"},
  });
}

TEST(Url, AmpFormsMeetThePage) {
  ExpectAll({
      {"https://amp.example.com/story", "https://example.com/story"},
      {"https://www.yna.co.kr/amp/view/AKR1", "https://yna.co.kr/view/AKR1"},
      {"https://example.com/story/amp/", "https://example.com/story"},
      {"https://example.com/story.amp", "https://example.com/story"},
      {"https://example.com/story?amp", "https://example.com/story"},
      {"https://example.com/story?amp=1&id=2", "https://example.com/story?id=2"},
      {"https://example.com/story?outputType=amp", "https://example.com/story"},
      {"https://example.com/story?output=xml", "https://example.com/story?output=xml"},
      {"https://example.com/amplify/x", "https://example.com/amplify/x"},
      {"https://amp.dev/docs", "https://amp.dev/docs"},
      {"https://www.google.com/amp/s/www.example.com/story/amp/?usqp=x",
       "https://example.com/story"},
      {"https://google.co.kr/amp/example.com/story", "https://example.com/story"},
      {"https://www-example-com.cdn.ampproject.org/c/s/www.example.com/amp/story",
       "https://example.com/story"},
      {"https://cdn.ampproject.org/v/s/example.com/story?amp_js_v=0.1",
       "https://example.com/story"},
      {"https://www.google.com/amp/about", "https://google.com/amp/about"},
  });
}

TEST(Url, RealShapesOfFeedsMeet) {
  const std::vector<std::vector<const char*>> same = {
      {"https://www.khan.co.kr/it/article/202207282134025/"
       "?utm_campaign=rss_btn_click&utm_source=khan_rss&utm_medium=rss&utm_content=it",
       "http://khan.co.kr/it/article/202207282134025",
       "https://m.khan.co.kr/it/article/202207282134025"},
      {"http://www.ablenews.co.kr/News/NewsContent.aspx?CategoryCode=0026&NewsCode=0026201904",
       "https://www.ablenews.co.kr/News/"
       "NewsContent.aspx?NewsCode=0026201904&amp;CategoryCode=0026"},
      {"https://www.seoul.co.kr/news/newsView.php?id=20220727021009&wlog_sub=x",
       "https://m.seoul.co.kr/news/newsView.php?wlog_sub=x&id=20220727021009#c"},
  };
  for (const auto& urls : same) {
    for (const char* url : urls) EXPECT_EQ(Canonical(url), Canonical(urls[0])) << url;
  }
}

TEST(Url, WhatIsNoWebAddressIsRefusedWithOneViolation) {
  const std::string long_label(64, 'a');
  const std::vector<std::string> bad = {"",
                                        " ",
                                        "example.com/a",
                                        "//example.com/a",
                                        "/a",
                                        "ftp://example.com",
                                        "javascript:alert(1)",
                                        "http:",
                                        "http:/example.com",
                                        "http://",
                                        "https:///a",
                                        "https://?q",
                                        "https://#f",
                                        "https://user@/a",
                                        "https://:80/",
                                        "https://a b.com/",
                                        "https://a..com",
                                        "https://.com",
                                        "https://a.com:x",
                                        "https://a.com:99999",
                                        "https://a.com:-1",
                                        "https://a.com:8 0",
                                        "https://[::1",
                                        "https://[::1]x/",
                                        "https://[::g]/",
                                        "https://[fe80::1%25eth0]/",
                                        "https://[]/",
                                        "https://a%00.com",
                                        "https://a%2Fb.com",
                                        "https://" + long_label + ".com/",
                                        "https://\xFF.com/",
                                        "https://\u2100.com/",
                                        "https://a\u202E.com/"};
  for (const std::string& url : bad) {
    const auto canonical = CanonicalUrl(url);
    ASSERT_FALSE(canonical.ok()) << url << " -> " << *canonical;
    const auto violations = ViolationsOf(canonical.status());
    ASSERT_EQ(violations.size(), 1u) << url;
    EXPECT_EQ(violations[0].field, "") << url;
  }
}

void ExpectStable(const std::string& url) {
  const auto once = CanonicalUrl(url);
  if (!once.ok()) return;
  const auto twice = CanonicalUrl(*once);
  ASSERT_TRUE(twice.ok()) << url << " -> " << *once << ": " << twice.status();
  ASSERT_EQ(*twice, *once) << url;
}

TEST(Url, TheCanonicalFormOfACanonicalFormIsItself) {
  static const std::vector<std::string> pieces = {"/",
                                                  "/",
                                                  "/",
                                                  ".",
                                                  "..",
                                                  "amp",
                                                  "/amp/",
                                                  ".amp",
                                                  "&",
                                                  "&amp;",
                                                  "amp;",
                                                  "#38;",
                                                  "&#38;",
                                                  "?",
                                                  "?",
                                                  "=",
                                                  "ref=rss",
                                                  "utm_source=x",
                                                  "id=1",
                                                  "b",
                                                  "+",
                                                  "%20",
                                                  "%",
                                                  "%2E",
                                                  "%26",
                                                  "%61",
                                                  "%3F",
                                                  "%zz",
                                                  "한",
                                                  "%ED%95%9C",
                                                  " ",
                                                  "\t",
                                                  "\xFF",
                                                  ":",
                                                  ":80",
                                                  "@",
                                                  "www.",
                                                  "m.",
                                                  "google.com",
                                                  "cdn.ampproject.org",
                                                  "c/s/",
                                                  "v/",
                                                  "example.com",
                                                  "s/",
                                                  "a",
                                                  "[",
                                                  "]",
                                                  "#",
                                                  "\\",
                                                  "output=amp",
                                                  "&ref=rss",
                                                  ";",
                                                  "!"};
  static const std::vector<std::string> hosts = {"example.com",          "www.m.example.com",
                                                 "amp.www.a.kr:8080",    "google.com",
                                                 "x.cdn.ampproject.org", "한국.kr",
                                                 "u:p@[::1]:443",        "m.kr",
                                                 "www.google.co.kr",     ""};
  std::mt19937_64 random(5);
  for (int i = 0; i < 40'000; ++i) {
    std::string url = "http://" + hosts[random() % hosts.size()];
    if (random() % 8 != 0) url += "/";
    for (size_t n = random() % 12; n > 0; --n) url += pieces[random() % pieces.size()];
    ExpectStable(url);
  }
}

TEST(Url, RandomBytesNeverCrash) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 20'000; ++i) {
    std::string url = i % 2 == 0 ? "https://" : "";
    for (size_t n = random() % 40; n > 0; --n) url += static_cast<char>(random());
    ExpectStable(url);
  }
}

TEST(Url, LongAddressesAreReadInOnePass) {
  for (const std::string piece : {"/../a", "&ref=rss", "/amp", "&amp;", "%2E/", "a=1&", ".amp",
                                  "c/s/a.cdn.ampproject.org/"}) {
    std::string url = "https://a.cdn.ampproject.org/";
    while (url.size() < 1'000'000) url += piece;
    ExpectStable(url);
  }
}

}  // namespace
}  // namespace winnow
