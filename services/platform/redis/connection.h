#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/redis/address.h"
#include "services/platform/redis/reply.h"
#include "services/platform/redis/reply_reader.h"
#include "services/platform/redis/socket.h"

namespace winnow::redis {

// A command and its arguments, any bytes: {"SET", key, value}.
using Command = std::vector<std::string>;

// One connection, for one thread at a time. After an error it is useless: commands may have been
// done or not.
class Connection {
 public:
  // Connects, logs in, chooses the database and sees an answer to PING.
  static StatusOr<std::unique_ptr<Connection>> Open(const Address& address, Deadline deadline);

  // Sends all, then reads an answer to each; errors of Redis are replies.
  StatusOr<std::vector<Reply>> Run(std::span<const Command> commands, Deadline deadline);
  bool IsStale() const { return socket_.HasInput(); }

 private:
  explicit Connection(Socket socket) : socket_(std::move(socket)) {}
  Status Greet(const Address& address, Deadline deadline);
  Status ReadInto(std::vector<Reply>& replies, size_t count, Deadline deadline);

  Socket socket_;
  ReplyReader reader_;
};

}  // namespace winnow::redis
