#pragma once

#include <string_view>

namespace winnow::rpc {

// Which pool runs a method: a flood of bulk writes must not starve readers.
enum class Lane { kRead, kWrite };

// What the binder has to know of a method. A constant of the service that lives as long as the
// process.
struct Method {
  std::string_view name;  // full: "winnow.collector.v1.CollectorService/GetItem"
  Lane lane = Lane::kRead;
  bool needs_auth = true;
};

}  // namespace winnow::rpc
