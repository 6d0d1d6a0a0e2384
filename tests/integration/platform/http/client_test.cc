#include "services/platform/http/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <thread>

#include "services/platform/base/timestamp.h"
#include "tests/support/http/fake_http.h"

namespace winnow::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::FakeHttpServer;
using test::FakeReply;
using test::FakeRequest;
using testing::HasSubstr;
using testing::Not;

Time At(const char* text) { return *ParseTime(text); }

struct HttpClient : testing::Test {
  // A client that may reach these servers.
  std::unique_ptr<Client> ClientOf(std::vector<std::string> allow) {
    ClientOptions options;
    options.name = "test";
    options.allow = std::move(allow);
    return std::make_unique<Client>(std::move(options), metrics);
  }
  ErrorKind KindOfFetch(Client& client, Request request) {
    return KindOf(client.Fetch(request).status());
  }
  Metrics metrics;
};

Request Get(const std::string& url) {
  Request request;
  request.url = url;
  request.timeout = seconds(30);
  return request;
}

long PeakKilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST_F(HttpClient, AnswersStatusHeadersAndBody) {
  FakeHttpServer server([](const FakeRequest&, FakeReply& reply) {
    reply.Send(404, "nothing", {{"X-Kind", " spaced "}});
  });
  const auto client = ClientOf({server.address()});
  const auto response = client->Fetch(Get(server.Url("/a?b=c#fragment")));
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->body, "nothing");
  EXPECT_EQ(response->Find("x-kind"), "spaced");
  EXPECT_EQ(server.requests().at(0).target, "/a?b=c");
  EXPECT_EQ(server.requests().at(0).headers.count("cookie"), 0U);
}

TEST_F(HttpClient, KeepsConnectionsAliveAndKeepsNoCookies) {
  FakeHttpServer server([](const FakeRequest&, FakeReply& reply) {
    reply.Send(200, "x", {{"Set-Cookie", "a=b"}});
  });
  const auto client = ClientOf({server.address()});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(client->Fetch(Get(server.Url("/"))).ok());
  EXPECT_EQ(server.connections(), 1U);
  for (const auto& request : server.requests()) EXPECT_EQ(request.headers.count("cookie"), 0U);
}

TEST_F(HttpClient, RefusesPrivateAddressesThatNoRuleAllowsAlsoByName) {
  FakeHttpServer server([](const FakeRequest&, FakeReply& reply) { reply.Send(200, "secret"); });
  ClientOptions options;
  options.name = "test";
  options.resolve = {"public.example:80:127.0.0.1", "mixed.example:443:10.0.0.1,::1"};
  Client client(options, metrics);
  EXPECT_EQ(KindOfFetch(client, Get("http://public.example/")), ErrorKind::kRefusedAddress);
  EXPECT_EQ(KindOfFetch(client, Get("https://mixed.example/")), ErrorKind::kRefusedAddress);
  EXPECT_EQ(KindOfFetch(client, Get(server.Url("/"))), ErrorKind::kBadUrl);  // its port
  EXPECT_EQ(server.connections(), 0U);
}

TEST_F(HttpClient, JudgesEveryRedirectAnew) {
  FakeHttpServer inner([](const FakeRequest&, FakeReply& reply) { reply.Send(200, "secret"); });
  FakeHttpServer outer([&](const FakeRequest& request, FakeReply& reply) {
    reply.Send(302, "", {{"Location", request.query.at("to")}});
  });
  const auto client = ClientOf({outer.address()});
  const auto kind = [&](const std::string& to) {
    return KindOfFetch(*client, Get(outer.Url("/?to=" + to)));
  };
  EXPECT_EQ(kind("http://127.0.0.1/"), ErrorKind::kRefusedAddress);
  EXPECT_EQ(kind("http://[::1]/"), ErrorKind::kRefusedAddress);
  EXPECT_EQ(kind("//169.254.169.254/latest"), ErrorKind::kRefusedAddress);
  EXPECT_EQ(kind(inner.Url("/")), ErrorKind::kBadUrl);
  EXPECT_EQ(kind("file:///etc/passwd"), ErrorKind::kBadUrl);
  EXPECT_EQ(kind("http://user:pass@127.0.0.1/"), ErrorKind::kBadUrl);
  EXPECT_EQ(inner.connections(), 0U);
}

TEST_F(HttpClient, FollowsAtMostAsManyRedirectsAsItMay) {
  FakeHttpServer server([](const FakeRequest& request, FakeReply& reply) {
    const int left = std::stoi(request.query.at("left"));
    if (left == 0) return void(reply.Send(200, "there"));
    reply.Send(301, "", {{"Location", "?left=" + std::to_string(left - 1)}});
  });
  const auto client = ClientOf({server.address()});
  const auto five = client->Fetch(Get(server.Url("/p?left=5")));
  ASSERT_TRUE(five.ok()) << five.status();
  EXPECT_EQ(five->body, "there");
  EXPECT_EQ(five->url, server.Url("/p?left=0"));
  EXPECT_EQ(KindOfFetch(*client, Get(server.Url("/p?left=6"))), ErrorKind::kRedirects);
}

TEST_F(HttpClient, SendsSecretsToTheirOwnOriginOnly) {
  FakeHttpServer other([](const FakeRequest&, FakeReply& reply) { reply.Send(200, "x"); });
  FakeHttpServer own([&](const FakeRequest&, FakeReply& reply) {
    reply.Send(307, "", {{"Location", other.Url("/")}});
  });
  const auto client = ClientOf({own.address(), other.address()});
  Request request = Get(own.Url("/"));
  request.headers = {{"X-Secret", "s3cret"}};
  ASSERT_TRUE(client->Fetch(request).ok());
  EXPECT_EQ(own.requests().at(0).headers.at("x-secret"), "s3cret");
  EXPECT_EQ(other.requests().at(0).headers.count("x-secret"), 0U);
}

TEST_F(HttpClient, IgnoresProxiesOfTheEnvironment) {
  FakeHttpServer proxy([](const FakeRequest&, FakeReply& reply) { reply.Send(200, "proxy"); });
  FakeHttpServer server([](const FakeRequest&, FakeReply& reply) { reply.Send(200, "server"); });
  ASSERT_EQ(setenv("http_proxy", proxy.Url("/").c_str(), 1), 0);
  ASSERT_EQ(setenv("ALL_PROXY", proxy.Url("/").c_str(), 1), 0);
  const auto response = ClientOf({server.address()})->Fetch(Get(server.Url("/")));
  unsetenv("http_proxy");
  unsetenv("ALL_PROXY");
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->body, "server");
  EXPECT_EQ(proxy.connections(), 0U);
}

TEST_F(HttpClient, EndsAGigabyteBodyAtTheCapWithoutHoldingIt) {
  FakeHttpServer server([](const FakeRequest&, FakeReply& reply) {
    const std::string megabyte(1 << 20, 'x');
    reply.Write("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n");
    for (int i = 0; i < 1024 && reply.Write(megabyte); ++i) {
    }
  });
  const auto client = ClientOf({server.address()});
  const long before = PeakKilobytes();
  EXPECT_EQ(KindOfFetch(*client, Get(server.Url("/"))), ErrorKind::kTooLarge);
  EXPECT_LT(PeakKilobytes() - before, 32 * 1024);
}

TEST_F(HttpClient, EndsACompressedBombAtTheCapWithoutHoldingIt) {
  const std::string bomb = test::GzipBomb(256 << 20);
  FakeHttpServer server([&](const FakeRequest&, FakeReply& reply) {
    reply.Send(200, bomb, {{"Content-Encoding", "gzip"}});
  });
  const auto client = ClientOf({server.address()});
  const long before = PeakKilobytes();
  EXPECT_EQ(KindOfFetch(*client, Get(server.Url("/"))), ErrorKind::kTooLarge);
  EXPECT_LT(PeakKilobytes() - before, 32 * 1024);
}

TEST_F(HttpClient, DecompressesWhatFits) {
  FakeHttpServer server([](const FakeRequest&, FakeReply& reply) {
    reply.Send(200, test::Gzip("hello hello hello"), {{"Content-Encoding", "gzip"}});
  });
  const auto response = ClientOf({server.address()})->Fetch(Get(server.Url("/")));
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->body, "hello hello hello");
}

TEST_F(HttpClient, EndsEndlessHeaders) {
  FakeHttpServer server([](const FakeRequest&, FakeReply& reply) {
    reply.Write("HTTP/1.1 200 OK\r\n");
    const std::string line = "X-Filler: " + std::string(1000, 'x') + "\r\n";
    while (reply.Write(line)) {
    }
  });
  EXPECT_EQ(KindOfFetch(*ClientOf({server.address()}), Get(server.Url("/"))), ErrorKind::kTooLarge);
}

TEST_F(HttpClient, EndsASlowLorisAtTheDeadlineOfTheWholeRequest) {
  FakeHttpServer server([](const FakeRequest& request, FakeReply& reply) {
    if (request.path == "/headers") {
      reply.Write("HTTP/1.1 200 OK\r\n");
      while (reply.Write("X: y\r\n") && reply.Pause(milliseconds(20))) {
      }
      return;
    }
    reply.Write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    while (reply.Write("x") && reply.Pause(milliseconds(20))) {
    }
  });
  const auto client = ClientOf({server.address()});
  for (const char* path : {"/headers", "/body"}) {
    Request request = Get(server.Url(path));
    request.timeout = milliseconds(300);
    EXPECT_EQ(KindOfFetch(*client, request), ErrorKind::kTimeout) << path;
  }
}

TEST_F(HttpClient, GivesUpWhenTheCallerDoes) {
  FakeHttpServer server([](const FakeRequest&, FakeReply& reply) { reply.Pause(seconds(60)); });
  Request request = Get(server.Url("/"));
  request.timeout = seconds(60);
  request.cancelled = [] { return true; };
  EXPECT_EQ(KindOfFetch(*ClientOf({server.address()}), request), ErrorKind::kCancelled);
}

TEST_F(HttpClient, StopsReadingWhenTheReaderHasEnough) {
  std::atomic<bool> gone = false;
  FakeHttpServer server([&](const FakeRequest&, FakeReply& reply) {
    reply.Write("HTTP/1.1 200 OK\r\n\r\n<head>x</head>");
    while (reply.Write("<p>endless</p>")) {
    }
    gone = true;
  });
  Request request = Get(server.Url("/"));
  std::string seen;
  request.on_body = [&](std::string_view piece) {
    seen += piece;
    return seen.find("</head>") == std::string::npos;
  };
  const auto response = ClientOf({server.address()})->Fetch(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_TRUE(response->stopped_early);
  EXPECT_THAT(seen, HasSubstr("</head>"));
}

TEST_F(HttpClient, TellsWhyThereIsNoAnswer) {
  int closed_port = 0;
  {
    const FakeHttpServer server([](const FakeRequest&, FakeReply&) {});
    closed_port = server.port();
  }
  FakeHttpServer garbage([](const FakeRequest& request, FakeReply& reply) {
    if (request.path == "/cut") {
      reply.Write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort");
    } else {
      reply.Write("\x16\x03\x01 no HTTP at all\r\n\r\n");
    }
  });
  const FakeHttpServer mail([](const FakeRequest&, FakeReply&) {}, "220 mail\r\n");
  const std::string closed = "127.0.0.1:" + std::to_string(closed_port);
  const auto client = ClientOf({closed, garbage.address(), mail.address()});
  EXPECT_EQ(KindOfFetch(*client, Get("http://" + closed + "/")), ErrorKind::kConnect);
  EXPECT_EQ(KindOfFetch(*client, Get(garbage.Url("/"))), ErrorKind::kProtocol);
  EXPECT_EQ(KindOfFetch(*client, Get(garbage.Url("/cut"))), ErrorKind::kProtocol);
  EXPECT_EQ(KindOfFetch(*client, Get("https://" + mail.address() + "/")), ErrorKind::kTls);
  const ErrorKind unknown = KindOfFetch(*client, Get("http://no-such-host.invalid/"));
  EXPECT_TRUE(unknown == ErrorKind::kDns || unknown == ErrorKind::kTimeout) << NameOf(unknown);
  EXPECT_EQ(KindOfFetch(*client, Get("ftp://example.com/")), ErrorKind::kBadUrl);
}

TEST_F(HttpClient, NamesNeitherQueryNorHeaderInErrorsAndMetrics) {
  FakeHttpServer server([](const FakeRequest&, FakeReply& reply) { reply.Send(500, "p4ss"); });
  const auto client = ClientOf({server.address()});
  JsonPost post;
  post.url = server.Url("/v1?key=s3cret");
  post.headers = {{"Authorization", "Bearer t0ken"}};
  const auto answer = PostJson(*client, post, Time{});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(KindOf(answer.status()), ErrorKind::kHttpStatus);
  for (const char* secret : {"s3cret", "t0ken", "p4ss"}) {
    EXPECT_THAT(Message(answer.status()), Not(HasSubstr(secret)));
    EXPECT_THAT(metrics.Render(), Not(HasSubstr(secret)));
  }
}

TEST_F(HttpClient, PostsJsonAndReadsWhenToComeBack) {
  FakeHttpServer server([](const FakeRequest& request, FakeReply& reply) {
    if (request.path == "/busy") return void(reply.Send(429, "", {{"Retry-After", "7"}}));
    reply.Send(200, request.method + request.headers.at("content-type") + request.body);
  });
  const auto client = ClientOf({server.address()});
  JsonPost post;
  post.url = server.Url("/");
  post.body = R"({"a":1})";
  const auto answer = PostJson(*client, post, Time{});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*answer, R"(POSTapplication/json{"a":1})");
  post.url = server.Url("/busy");
  const auto busy = PostJson(*client, post, Time{});
  EXPECT_EQ(busy.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(RetryAfterOf(busy.status()), seconds(7));
  EXPECT_EQ(KindOf(busy.status()), ErrorKind::kHttpStatus);
}

TEST_F(HttpClient, RefusesHeadersThatBreakTheRequest) {
  const auto client = ClientOf({});
  Request request = Get("http://example.com/");
  request.headers = {{"X-A", "b\r\nX-Injected: 1"}};
  EXPECT_EQ(KindOfFetch(*client, request), ErrorKind::kBadUrl);
}

TEST(RetryAfter, IsReadAsSecondsOrDate) {
  const Time now = At("2026-02-01T00:00:00Z");
  const auto read = [&](const char* value) {
    Response response;
    if (value != nullptr) response.headers = {{"retry-after", value}};
    return RetryAfter(response, now);
  };
  EXPECT_EQ(read(nullptr), std::nullopt);
  EXPECT_EQ(read("120"), seconds(120));
  EXPECT_EQ(read("0"), seconds(0));
  EXPECT_EQ(read("-5"), seconds(0));
  EXPECT_EQ(read("99999999999999999999"), seconds(86400));
  EXPECT_EQ(read("Sun, 01 Feb 2026 00:02:00 GMT"), seconds(120));
  EXPECT_EQ(read("Sat, 31 Jan 2026 23:00:00 GMT"), seconds(0));
  EXPECT_EQ(read("soon"), std::nullopt);
}

}  // namespace
}  // namespace winnow::http
