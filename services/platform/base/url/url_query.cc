#include "services/platform/base/url/url_query.h"

#include <algorithm>
#include <array>
#include <vector>

#include "services/platform/base/ascii.h"
#include "services/platform/base/url/url_escape.h"

namespace winnow::url {
namespace {

// Names are compared in lower case. Only names that no site is known to use for its content: a
// parameter too few leaves two addresses of one page apart, one too many makes two pages one.
constexpr std::array<std::string_view, 3> kPrefixes = {"at_", "utm_", "wt."};
constexpr std::string_view kNames[] = {  // sorted
    "__twitter_impression",
    "_branch_match_id",
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "_openstat",
    "amp",
    "amp_gsa",
    "amp_js_v",
    "cloc",
    "cmpid",
    "cvid",
    "dclid",
    "dicbo",
    "ef_id",
    "fb_action_ids",
    "fb_action_types",
    "fb_comment_id",
    "fb_ref",
    "fb_source",
    "fbclid",
    "ga_campaign",
    "ga_content",
    "ga_medium",
    "ga_source",
    "ga_term",
    "gad_source",
    "gbraid",
    "gclid",
    "gclsrc",
    "guccounter",
    "guce_referrer",
    "guce_referrer_sig",
    "icid",
    "igsh",
    "igshid",
    "ito",
    "li_fat_id",
    "mc_cid",
    "mc_eid",
    "mibextid",
    "mkt_tok",
    "mkwid",
    "ml_subscriber",
    "ml_subscriber_hash",
    "msclkid",
    "n_ad",
    "n_ad_group",
    "n_keyword",
    "n_media",
    "n_query",
    "n_rank",
    "napm",
    "ncid",
    "ocid",
    "oly_anon_id",
    "oly_enc_id",
    "rb_clickid",
    "ref",
    "ref_src",
    "ref_url",
    "referrer",
    "rss",
    "s_kwcid",
    "smid",
    "soc_src",
    "soc_trk",
    "ttclid",
    "twclid",
    "usqp",
    "wbraid"};
static_assert(std::is_sorted(std::begin(kNames), std::end(kNames)));
constexpr size_t kLongestName = 32;

std::string_view NameOf(std::string_view parameter) {
  return parameter.substr(0, parameter.find('='));
}

bool AsksForAmp(std::string_view name, std::string_view parameter) {
  const std::string_view value = parameter.substr(std::min(name.size() + 1, parameter.size()));
  return value == "amp" && (name == "output" || name == "outputtype");
}

// In form encoding '+' is a space, "%2B" a plus.
std::string WithPlainSpaces(std::string_view query) {
  std::string out;
  out.reserve(query.size() + 16);
  for (const char c : query) {
    if (c == '+') {
      out += "%20";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

bool IsTrackingParameter(std::string_view parameter) {
  const std::string_view name = NameOf(parameter);
  std::array<char, kLongestName> buffer{};
  const std::string_view head = name.substr(0, buffer.size());
  std::transform(head.begin(), head.end(), buffer.begin(), ToLowerAscii);
  const std::string_view lower(buffer.data(), head.size());
  for (const std::string_view prefix : kPrefixes) {
    if (lower.starts_with(prefix)) return true;
  }
  if (head.size() < name.size()) return false;
  return std::binary_search(std::begin(kNames), std::end(kNames), lower) ||
         AsksForAmp(lower, parameter);
}

std::string CanonicalQuery(std::string_view query) {
  if (query.find('+') != std::string_view::npos) return CanonicalQuery(WithPlainSpaces(query));
  std::vector<std::string_view> kept;
  kept.reserve(8);
  for (size_t begin = 0; begin <= query.size();) {
    const size_t end = std::min(query.find('&', begin), query.size());
    const std::string_view parameter = WithoutAmpersandRest(query.substr(begin, end - begin));
    if (!parameter.empty() && !IsTrackingParameter(parameter)) kept.push_back(parameter);
    begin = end + 1;
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [](std::string_view a, std::string_view b) { return NameOf(a) < NameOf(b); });
  std::string out;
  out.reserve(query.size());
  for (const std::string_view parameter : kept) {
    if (!out.empty()) out += '&';
    out += parameter;
  }
  return out;
}

}  // namespace winnow::url
