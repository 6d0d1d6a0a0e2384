#pragma once

#include <string>
#include <vector>

#include "services/platform/base/clock.h"

namespace winnow::test {

struct NewsItem {
  std::string title;
  std::string snippet;
  std::string channel;
  std::string url;
  Time publish_time;
};

// The items of a file of real news, in its order: `name` within the folder news of WINNOW_DATA, or
// of ../shared/data beside the repository. None where the file is not there. Throws when it is bad.
std::vector<NewsItem> ReadNews(const std::string& name);

}  // namespace winnow::test
