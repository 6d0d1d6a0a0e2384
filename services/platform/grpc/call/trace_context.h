#pragma once

#include <string>
#include <string_view>

namespace winnow {

// W3C trace context, version 00. Winnow hands it on through calls and events and writes its ids to
// logs.
struct TraceContext {
  std::string trace_id;   // 32 hex digits
  std::string parent_id;  // 16 hex digits
  bool sampled = false;

  // "00-<trace_id>-<parent_id>-01"
  std::string ToTraceparent() const;
};

// A malformed or missing header begins a new trace, as the standard asks.
TraceContext ParseOrStartTrace(std::string_view traceparent);
// Same trace, new parent: what to send on.
TraceContext ChildOf(const TraceContext& parent);

}  // namespace winnow
