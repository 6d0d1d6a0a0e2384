#include "tests/support/news/news_stream.h"

#include <stdexcept>

#include "services/platform/base/timestamp.h"
#include "tests/support/news/data_lines.h"

namespace winnow::test {

std::vector<NewsItem> ReadNews(const std::string& name) {
  std::vector<NewsItem> news;
  ForEachDataLine("news/" + name, [&](const simdjson::dom::element& item) {
    const StatusOr<Time> time = ParseTime(TextOf(item, "published_at"));
    if (!time.ok()) throw std::runtime_error("a line of " + name + " has no time");
    news.push_back({TextOf(item, "title"), TextOf(item, "snippet"), TextOf(item, "channel"),
                    TextOf(item, "url"), *time});
  });
  return news;
}

}  // namespace winnow::test
