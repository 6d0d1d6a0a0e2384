#pragma once

namespace winnow::rpc {

// The largest message, either way: 1,000 items of 20,000 Korean characters and their other fields.
// gRPC refuses larger ones with RESOURCE_EXHAUSTED.
inline constexpr int kMaxMessageBytes = 80 << 20;

}  // namespace winnow::rpc
