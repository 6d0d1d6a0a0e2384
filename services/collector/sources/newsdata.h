#pragma once

#include <string>
#include <string_view>

#include "services/collector/sources/vendor.h"

// NewsData.io, "latest".
namespace winnow::collector {

inline constexpr int kNewsDataMaxSize = 50;
inline constexpr std::string_view kNewsDataUrl = "https://newsdata.io/api/1/latest";
inline constexpr std::string_view kNewsDataKeyHeader = "X-ACCESS-KEY";

struct NewsDataQuery {
  std::string query;      // optional search words
  std::string country;    // "kr"
  std::string language;   // "ko"
  std::string category;   // "technology"
  std::string timeframe;  // hours or minutes: "6", "90m"
  int size = 10;          // 1 to 50; a free plan has 10
  std::string page;       // the token that the page before answered
};
// The key is never part of it.
std::string NewsDataUrl(std::string_view base_url, const NewsDataQuery& query);

// What an answer means; fields of the wrong kind, missing ones and those that a plan does not
// include are absent.
VendorAnswer ReadNewsData(int http_status, std::string_view body);

}  // namespace winnow::collector
