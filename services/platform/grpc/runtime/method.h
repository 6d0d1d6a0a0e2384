#pragma once

#include <string_view>

namespace winnow::rpc {

// Where a method runs: on the pool of reads or of writes, so that a flood of bulk writes does not
// starve readers; or on gRPC's own thread. That saves the change of threads, which is dearer than
// all else that the binder does, and is only for unary methods that never wait: no I/O, no lock
// that is held during I/O, well under a millisecond.
enum class MethodPool { kRead, kWrite, kInline };

// What the binder has to know of a method. A constant of the service that lives as long as the
// process.
struct Method {
  std::string_view name;  // full: "winnow.collector.v1.CollectorService/GetItem"
  MethodPool lane = MethodPool::kRead;
  bool needs_auth = true;
};

}  // namespace winnow::rpc
