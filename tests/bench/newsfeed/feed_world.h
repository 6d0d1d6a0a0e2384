#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/process/test_platform.h"
#include "winnow/newsfeed/v1/newsfeed_service.grpc.pb.h"

// The feeds as a process serves them, for benchmarks over gRPC.
namespace winnow::bench {

inline constexpr char kListMethod[] = "/winnow.newsfeed.v1.NewsFeedService/ListArticles";

// URL of a new database of the test binary's PostgreSQL, with the schemas that a process needs.
std::string NewFeedDatabase();

// Real news of WINNOW_DATA or of ../shared/data, else made ones of the size of Korean news; a
// minute apart, the newest now.
std::vector<newsfeed::v1::Article> MakeArticles(int count);

// One process of the service on a free port, with all that it runs without a caller.
class FeedProcess {
 public:
  explicit FeedProcess(const std::string& database, const std::string& redis_url = "");
  ~FeedProcess();

  const std::string& address() const { return platform_.address(); }
  newsfeed::v1::NewsFeedService::Stub& stub() { return *stub_; }
  // Ends the program when an article is refused.
  void Store(const std::vector<newsfeed::v1::Article>& articles);
  // Asks for the first page until memory serves it; its bytes.
  std::string AwaitHotPage(const newsfeed::v1::ListArticlesRequest& request);
  // The sum of a metric's samples that have this text in their name or labels.
  double Metric(const std::string& text);

 private:
  test::TestPlatform platform_;
  std::unique_ptr<newsfeed::v1::NewsFeedService::Stub> stub_;
};

}  // namespace winnow::bench
