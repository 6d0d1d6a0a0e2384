#include "services/collector/items/listing.h"

#include <charconv>

namespace winnow::collector {
namespace {

// Takes a positive number off the front of `text`; 0 if there is none.
uint64_t TakeNumber(std::string_view& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number > uint64_t{INT64_MAX}) return 0;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

bool TakeChar(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

bool IsSnapshot(std::string_view text) {
  const uint64_t xmin = TakeNumber(text);
  if (xmin == 0 || !TakeChar(text, ':')) return false;
  const uint64_t xmax = TakeNumber(text);
  if (xmax < xmin || !TakeChar(text, ':')) return false;
  for (uint64_t last = xmin - 1; !text.empty();) {
    const uint64_t xid = TakeNumber(text);
    if (xid <= last || xid >= xmax) return false;
    last = xid;
    if (!text.empty() && (!TakeChar(text, ',') || text.empty())) return false;
  }
  return true;
}

}  // namespace winnow::collector
