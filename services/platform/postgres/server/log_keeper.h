#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

namespace winnow::pg {

// Keeps the file small that a server appends its log to, as long as it lives: once that holds more
// than `limit` bytes it is copied to PATH.1, in place of what was there, and begins anew. The
// server notices nothing; what it writes within that moment may be lost.
class LogKeeper {
 public:
  LogKeeper(std::string path, uintmax_t limit,
            std::chrono::milliseconds interval = std::chrono::seconds(2));

 private:
  std::jthread thread_;
};

}  // namespace winnow::pg
