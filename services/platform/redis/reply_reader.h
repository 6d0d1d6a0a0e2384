#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "services/platform/base/status.h"
#include "services/platform/redis/reply.h"

namespace winnow::redis {

// What a server may make us keep: beyond it the connection is given up.
inline constexpr size_t kMaxReplyBytes = size_t{64} << 20;
inline constexpr int kMaxReplyItems = 1'000'000;

// Bytes of Redis' protocol into replies, by hiredis' parser.
class ReplyReader {
 public:
  ReplyReader();
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  // Errors: REDIS_UNAVAILABLE for bytes that are not the Redis protocol, or are too large. The
  // reader is useless then.
  Status Feed(std::string_view bytes);
  // The next whole reply; nothing when more bytes are needed.
  StatusOr<std::optional<Reply>> Next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace winnow::redis
