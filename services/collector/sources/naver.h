#pragma once

#include <string>
#include <string_view>

#include "services/collector/sources/vendor.h"

// Naver's news search, in the two profiles of its API.
namespace winnow::collector {

enum class NaverProfile {
  kLegacy,  // openapi.naver.com, until 2027-06-30
  kApiHub,  // naverapihub.apigw.ntruss.com
};

inline constexpr int kNaverMaxDisplay = 100;
inline constexpr int kNaverMaxStart = 1'000;

struct NaverRules {
  std::string_view url;            // where nothing else is configured
  std::string_view id_header;      // carries the client id
  std::string_view secret_header;  // carries its key
};
const NaverRules& RulesOf(NaverProfile profile);

struct NaverQuery {
  std::string query;
  int display = kNaverMaxDisplay;  // items a page, 1 to 100
  int start = 1;                   // of the first item, 1 to 1,000
  bool by_date = true;             // else by similarity
};
std::string NaverUrl(std::string_view base_url, const NaverQuery& query);

// What an answer means. Errors come at any HTTP status, also at 200, flat or under "error". The
// content type says nothing.
VendorAnswer ReadNaver(int http_status, std::string_view body);

// A title or description: <b> away, then character references once.
std::string NaverText(std::string_view text);

}  // namespace winnow::collector
