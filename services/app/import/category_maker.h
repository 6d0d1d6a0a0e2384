#pragma once

#include <set>
#include <string>

#include "services/app/client/client.h"
#include "services/platform/base/status.h"
#include "winnow/collector/v1/collector.pb.h"
#include "winnow/newsfeed/v1/newsfeed_service.grpc.pb.h"

namespace winnow::app {

// Creates the categories that items name, so that their articles are shown by them.
class CategoryMaker {
 public:
  CategoryMaker(const Remote& remote, std::string item_namespace);
  // Creates those of the item's categories that are new here and can be ids of categories.
  Status Ensure(const collector::v1::Item& item);

 private:
  Status Create(const std::string& id);

  const Client<newsfeed::v1::NewsFeedService> server_;
  const std::string namespace_;
  std::set<std::string, std::less<>> seen_;
};

}  // namespace winnow::app
