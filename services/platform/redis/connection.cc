#include "services/platform/redis/connection.h"

#include <array>
#include <string_view>

#include "services/platform/redis/errors.h"

namespace winnow::redis {
namespace {

// Sent and answered piece by piece, so that neither side waits for the other with full buffers.
constexpr size_t kCommandsPerTurn = 1000;
constexpr size_t kBytesPerTurn = size_t{1} << 20;

void Append(std::string& bytes, const Command& command) {
  bytes += "*" + std::to_string(command.size()) + "\r\n";
  for (const std::string& argument : command) {
    bytes += "$" + std::to_string(argument.size()) + "\r\n";
    bytes += argument;
    bytes += "\r\n";
  }
}

}  // namespace

StatusOr<std::unique_ptr<Connection>> Connection::Open(const Address& address, Deadline deadline) {
  WINNOW_ASSIGN_OR_RETURN(Socket socket, Socket::Connect(address, deadline));
  // The constructor is private, out of make_unique's reach.
  std::unique_ptr<Connection> connection(new Connection(std::move(socket)));
  WINNOW_RETURN_IF_ERROR(connection->Greet(address, deadline));
  return connection;
}

Status Connection::Greet(const Address& address, Deadline deadline) {
  std::vector<Command> commands;
  if (!address.user.empty()) {
    commands.push_back({"AUTH", address.user, address.password});
  } else if (!address.password.empty()) {
    commands.push_back({"AUTH", address.password});
  }
  // Proxies of a cluster know no databases.
  if (address.db != 0) commands.push_back({"SELECT", std::to_string(address.db)});
  commands.push_back({"PING"});
  WINNOW_ASSIGN_OR_RETURN(const std::vector<Reply> replies, Run(commands, deadline));
  for (const Reply& reply : replies) {
    if (const Reply::Error* error = reply.error()) {
      return Away("Redis refused the login or the database (" +
                  error->text.substr(0, error->text.find(' ')) + ")");
    }
  }
  if (replies.back().text() == nullptr || *replies.back().text() != "PONG") {
    return Away("what answers at the address of Redis is none");
  }
  return OkStatus();
}

StatusOr<std::vector<Reply>> Connection::Run(std::span<const Command> commands, Deadline deadline) {
  std::vector<Reply> replies;
  replies.reserve(commands.size());
  std::string bytes;
  for (size_t done = 0; done < commands.size();) {
    bytes.clear();
    size_t count = 0;
    while (done < commands.size() && count < kCommandsPerTurn && bytes.size() < kBytesPerTurn) {
      Append(bytes, commands[done++]);
      ++count;
    }
    WINNOW_RETURN_IF_ERROR(socket_.Send(bytes, deadline));
    WINNOW_RETURN_IF_ERROR(ReadInto(replies, count, deadline));
  }
  return replies;
}

Status Connection::ReadInto(std::vector<Reply>& replies, size_t count, Deadline deadline) {
  std::array<char, 16 * 1024> buffer;
  for (size_t missing = count; missing > 0;) {
    WINNOW_ASSIGN_OR_RETURN(std::optional<Reply> reply, reader_.Next());
    if (reply) {
      replies.push_back(*std::move(reply));
      --missing;
      continue;
    }
    WINNOW_ASSIGN_OR_RETURN(const size_t size,
                            socket_.Receive(buffer.data(), buffer.size(), deadline));
    WINNOW_RETURN_IF_ERROR(reader_.Feed(std::string_view(buffer.data(), size)));
  }
  return OkStatus();
}

}  // namespace winnow::redis
