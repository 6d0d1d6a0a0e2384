#pragma once

#include <chrono>
#include <string>

#include "services/app/client/client.h"
#include "winnow/newsfeed/v1/newsfeed_service.grpc.pb.h"

namespace winnow::app {

// The feed follows decisions by events, moments later: who looks right after an import would miss
// the newest articles.
class FeedFollower {
 public:
  FeedFollower(const Remote& remote, std::string item_namespace);

  // Whether the article of an accepted item is in the feed within `limit`. One that was merged into
  // another by its address never is, and a server without the newsfeed target never reports one.
  bool Has(const std::string& id, std::chrono::milliseconds limit);

 private:
  const Client<newsfeed::v1::NewsFeedService> server_;
  const std::string namespace_;
};

}  // namespace winnow::app
