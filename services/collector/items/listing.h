#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/collector/items/item.h"
#include "services/platform/base/clock.h"

// Paging through the items of a namespace, newest arrival first.
namespace winnow::collector {

inline constexpr int kDefaultPageSize = 50;
inline constexpr int kMaxPageSize = 1'000;

// Where a listing goes on, and which world it is of (docs/adr/0004).
struct ListCursor {
  // PostgreSQL's snapshot at the first page: what was not committed in it is in no page.
  std::string snapshot;
  // The database cluster whose snapshot that is.
  int64_t cluster = 0;
  // The last item that was handed out.
  Time arrival_time{};
  std::string id;
};

struct ListQuery {
  std::string ns;
  std::string channel;  // empty: all
  int page_size = kDefaultPageSize;
  std::optional<ListCursor> cursor;  // absent: from the start
};

struct ItemPage {
  std::vector<Item> items;
  std::optional<ListCursor> next;  // absent at the end
};

// Whether `text` is a snapshot in PostgreSQL's form, "xmin:xmax:xid,xid,...".
bool IsSnapshot(std::string_view text);

}  // namespace winnow::collector
