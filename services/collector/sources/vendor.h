#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/collector/items/item.h"

// What the sources have in common: pages of items, and what a failed call means for what follows.
namespace winnow::collector {

// How a run ended. A closed set: labels of metrics, values of the API.
enum class Outcome {
  kNone,
  kOk,
  kPartial,   // some pages or items came and others did not
  kQuotaDay,  // the day's calls are used up
  kRate,      // too many calls in a short time
  kAuth,      // the key is refused
  kUpstream,  // the other side failed or cannot be reached
  kParse,     // its answer is not what it should be
  kBlocked,   // refused for good: by the other side, or by our rules of what may be fetched
};
const char* NameOf(Outcome outcome);  // "ok", "partial", ...

// What to do after an error.
enum class Remedy {
  kNever,     // the same call will always fail: the source or the configuration must change
  kSoon,      // again after a second or two
  kLater,     // with backoff
  kNextDay,   // at the vendor's reset
  kOperator,  // a key must be fixed: no calls with it until then
};

struct VendorError {
  Outcome outcome = Outcome::kUpstream;
  Remedy remedy = Remedy::kLater;
  std::string code;  // the vendor's own code, or "HTTP 500": printable, at most 64 characters
};

struct Page {
  std::vector<Item> items;  // not accepted yet
  size_t refused = 0;       // entries that no item can be made of
  std::string next;         // token of the next page; empty: none
};

// What an answer says: a page, or an error.
struct VendorAnswer {
  Page page;
  std::optional<VendorError> error;
};

// `code` as it may stand in an error: printable ASCII, cut.
std::string PrintableCode(std::string_view code);

// A value of a query string: UTF-8, percent-encoded.
std::string EncodeQuery(std::string_view text);

// The outlet that an address belongs to: its host as addresses are compared, e.g. "example.com";
// empty when the address is none.
std::string ChannelOf(const std::string& url);

// The first `limit` characters of a text whose white space is collapsed: leads are a foretaste, and
// feeds send whole articles.
std::string LeadOf(std::string_view text, size_t limit);
inline constexpr size_t kMaxLead = 2'000;

// Words as an item may hold them: without blank, over-long and repeated ones, at most `limit`.
std::vector<std::string> TakeWords(const std::vector<std::string>& words, size_t limit);

}  // namespace winnow::collector
