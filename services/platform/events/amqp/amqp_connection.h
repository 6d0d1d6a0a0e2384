#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"

namespace winnow::events {

// How long a broker may take, at most.
struct AmqpTimes {
  std::chrono::milliseconds connect{5'000};  // with the TLS handshake
  std::chrono::milliseconds answer{15'000};  // to a question, and to each of a login
  // To take what was sent. A peer that vanished says nothing of it, and one in trouble may leave
  // off reading: either way the connection is lost then.
  std::chrono::milliseconds send{30'000};
  std::chrono::milliseconds goodbye{2'000};
};

// A broker's address: amqp://USER@HOST:PORT/VHOST, or amqps://.
struct AmqpAddress {
  std::string host = "localhost";
  int port = 5672;
  std::string user = "guest";
  std::string password = "guest";
  std::string vhost = "/";
  bool tls = false;
  std::string ca_file;  // for TLS; empty: the system's authorities
  AmqpTimes times{};

  // Without the password: for messages.
  std::string ToString() const;
};

// Its error is INVALID_ARGUMENT that says what is wrong, without the password.
StatusOr<AmqpAddress> ParseAmqpUrl(const std::string& url);

// What a dead letter says of its death. Set by us, or by the broker where that made it one.
struct DeadHeaders {
  std::string reason;
  int attempts = 0;
  Time time{};  // to the second
};

// One connection with one channel, for one thread. Any error but a refused declaration leaves it
// useless: open another. Errors are UNAVAILABLE (BROKER_UNAVAILABLE).
class AmqpConnection {
 public:
  // Connects, logs in and declares the whole topology, by `deadline`. Once `stop` is requested,
  // whatever waits ends with an error, here and as long as the connection lives.
  static StatusOr<std::unique_ptr<AmqpConnection>> Open(const AmqpAddress& address,
                                                        const std::stop_token& stop = {},
                                                        Deadline deadline = Deadline::max());
  ~AmqpConnection();
  AmqpConnection(const AmqpConnection&) = delete;
  AmqpConnection& operator=(const AmqpConnection&) = delete;

  // What the broker says while we wait.
  struct Confirmed {  // of publications
    uint64_t tag = 0;
    bool multiple = false;  // this and all before
    bool ok = false;        // false: refused, e.g. the queue is full
  };
  struct Returned {  // no queue takes it; its confirmation follows
    std::string message_id;
  };
  struct Blocked {
    bool blocked = false;  // the broker takes no publications, e.g. for want of memory
    std::string reason;
  };
  struct Message {
    uint64_t tag = 0;
    std::string message_id;
    std::string body;
    DeadHeaders dead;  // of a dead letter
  };
  struct Quiet {};  // nothing within the timeout
  using Heard = std::variant<Quiet, Confirmed, Returned, Blocked, Message>;
  StatusOr<Heard> Hear(std::chrono::milliseconds timeout);

  // Makes the broker confirm publications: tags count from 1.
  Status SelectConfirms();
  // Persistent; and mandatory, except an event that no queue of ours takes. `dead`: makes it a dead
  // letter.
  Status Publish(std::string_view exchange, std::string_view key, std::string_view message_id,
                 std::string_view body, const DeadHeaders* dead = nullptr);

  // Begins to receive, at most `prefetch` unacknowledged messages at a time.
  Status Consume(const std::string& queue, int prefetch);
  // Ends that. What has arrived meanwhile is still to be heard.
  Status Cancel();
  // Takes one message, to be acknowledged; nothing when the queue is empty.
  StatusOr<std::optional<Message>> Get(const std::string& queue);
  Status Ack(uint64_t tag);
  // Gives back to their queues, in their places, all messages that were not acknowledged. When it
  // is OK the broker has acted on everything sent before.
  Status Recover();
  StatusOr<int64_t> CountMessages(const std::string& queue);

  // Says goodbye, so that the broker has all that was sent before; waits at most `times.goodbye`.
  void Close();
  // Makes what waits end with an error.
  void Shutdown();

 private:
  struct State;
  explicit AmqpConnection(std::unique_ptr<State> state);
  static StatusOr<std::unique_ptr<AmqpConnection>> Connect(const AmqpAddress& address,
                                                           const std::stop_token& stop);
  Status DeclareTopology();
  std::unique_ptr<State> state_;
};

}  // namespace winnow::events
