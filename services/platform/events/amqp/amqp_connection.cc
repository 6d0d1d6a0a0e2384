#include "services/platform/events/amqp/amqp_connection.h"

#include <amqp.h>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <functional>
#include <utility>

#include "services/platform/events/amqp/amqp_headers.h"
#include "services/platform/events/core/topology.h"
#include "services/platform/process/unless_stopped.h"

namespace winnow::events {
namespace {

constexpr amqp_channel_t kChannel = 1;
// RabbitMQ closes a connection that has been silent for two to three of these, which is 8 to 12 s,
// and delivers its unacknowledged messages to others. Also what a silent broker is given, doubled.
constexpr int kHeartbeatSeconds = 4;
constexpr int kMaxFrameBytes = 131'072;
constexpr char kConsumerTag[] = "winnow";  // one consumer a channel
constexpr char kSystemAuthorities[] = "/etc/ssl/certs/ca-certificates.crt";

using amqp::Entry;
using amqp::Table;
using amqp::ToBytes;
using amqp::ToString;

timeval ToTimeval(std::chrono::milliseconds time) {
  return {static_cast<time_t>(time.count() / 1000),
          static_cast<suseconds_t>(time.count() % 1000 * 1000)};
}

Status Away(std::string what) {
  return Unavailable(Reason::kBrokerUnavailable, std::move(what), std::chrono::seconds(1));
}

std::string Text(uint16_t code, amqp_bytes_t text) {
  return std::to_string(code) + " " + ToString(text);
}

// What a close method says: "406 PRECONDITION_FAILED - inequivalent arg ...".
std::string CloseText(const amqp_method_t& method) {
  if (method.id == AMQP_CONNECTION_CLOSE_METHOD) {
    const auto* close = static_cast<amqp_connection_close_t*>(method.decoded);
    return Text(close->reply_code, close->reply_text);
  }
  if (method.id == AMQP_CHANNEL_CLOSE_METHOD) {
    const auto* close = static_cast<amqp_channel_close_t*>(method.decoded);
    return Text(close->reply_code, close->reply_text);
  }
  return "method " + std::to_string(method.id);
}

Status ToStatus(const amqp_rpc_reply_t& reply, const std::string& doing) {
  switch (reply.reply_type) {
    case AMQP_RESPONSE_NORMAL:
      return OkStatus();
    case AMQP_RESPONSE_SERVER_EXCEPTION:
      return Away("the broker refused to " + doing + ": " + CloseText(reply.reply));
    case AMQP_RESPONSE_LIBRARY_EXCEPTION:
      return Away("cannot " + doing + ": " + amqp_error_string2(reply.library_error));
    default:
      return Away("cannot " + doing + ": no answer of the broker");
  }
}

Status ToStatus(int code, const std::string& doing) {
  return code == AMQP_STATUS_OK ? OkStatus()
                                : Away("cannot " + doing + ": " + amqp_error_string2(code));
}

amqp_socket_t* NewSocket(amqp_connection_state_t connection, const AmqpAddress& address) {
  if (!address.tls) return amqp_tcp_socket_new(connection);
  amqp_socket_t* socket = amqp_ssl_socket_new(connection);
  if (socket == nullptr) return nullptr;
  const char* authorities = address.ca_file.empty() ? kSystemAuthorities : address.ca_file.c_str();
  if (amqp_ssl_socket_set_cacert(socket, authorities) != AMQP_STATUS_OK) return nullptr;
  amqp_ssl_socket_set_verify_peer(socket, 1);
  amqp_ssl_socket_set_verify_hostname(socket, 1);
  return socket;
}

Status LogIn(amqp_connection_state_t connection, const AmqpAddress& address) {
  std::array capabilities{Entry("connection.blocked", true), Entry("consumer_cancel_notify", true),
                          Entry("publisher_confirms", true),
                          Entry("authentication_failure_close", true)};
  amqp_table_entry_t nested{};
  nested.key = amqp_cstring_bytes("capabilities");
  nested.value.kind = AMQP_FIELD_KIND_TABLE;
  nested.value.value.table = Table(capabilities);
  std::array entries{Entry("product", "winnow"), Entry("connection_name", "winnow"), nested};
  const amqp_table_t properties = Table(entries);
  const std::string doing = "log in to " + address.ToString();
  return ToStatus(amqp_login_with_properties(connection, address.vhost.c_str(), 1, kMaxFrameBytes,
                                             kHeartbeatSeconds, &properties, AMQP_SASL_METHOD_PLAIN,
                                             address.user.c_str(), address.password.c_str()),
                  doing);
}

}  // namespace

struct AmqpConnection::State {
  explicit State(const AmqpTimes& t) : times(t) {}
  ~State() {
    cut.reset();                          // first: it uses the socket
    amqp_destroy_connection(connection);  // closes the socket, says no goodbye
  }
  void OnConnected(const std::stop_token& stop);
  void Shutdown() const { ::shutdown(amqp_get_sockfd(connection), SHUT_RDWR); }
  Status LastReply(const std::string& doing) {
    return ToStatus(amqp_get_rpc_reply(connection), doing);
  }
  StatusOr<Heard> OnMethod(const amqp_method_t& method);
  StatusOr<Message> ReadMessage(uint64_t tag);

  const AmqpTimes times;
  amqp_connection_state_t connection = amqp_new_connection();
  std::optional<std::stop_callback<std::function<void()>>> cut;
};

void AmqpConnection::State::OnConnected(const std::stop_token& stop) {
  const auto send_ms = static_cast<unsigned int>(times.send.count());
  ::setsockopt(amqp_get_sockfd(connection), IPPROTO_TCP, TCP_USER_TIMEOUT, &send_ms,
               sizeof(send_ms));
  cut.emplace(stop, [this] { Shutdown(); });
}

AmqpConnection::AmqpConnection(std::unique_ptr<State> state) : state_(std::move(state)) {}
AmqpConnection::~AmqpConnection() = default;

// The resolver and the library's connecting cannot be cancelled.
StatusOr<std::unique_ptr<AmqpConnection>> AmqpConnection::Open(const AmqpAddress& address,
                                                               const std::stop_token& stop,
                                                               Deadline deadline) {
  auto made = UnlessStopped(stop, deadline, [address, stop] { return Connect(address, stop); });
  if (!made) return Away("no connection to " + address.ToString() + " was made in time");
  return *std::move(made);
}

StatusOr<std::unique_ptr<AmqpConnection>> AmqpConnection::Connect(const AmqpAddress& address,
                                                                  const std::stop_token& stop) {
  auto state = std::make_unique<State>(address.times);
  const timeval connect_time = ToTimeval(address.times.connect);
  const timeval answer_time = ToTimeval(address.times.answer);
  const std::string doing = "connect to " + address.ToString();
  amqp_socket_t* socket = NewSocket(state->connection, address);
  if (socket == nullptr) return Away("cannot " + doing + ": its authorities cannot be read");
  amqp_set_handshake_timeout(state->connection, &answer_time);
  amqp_set_rpc_timeout(state->connection, &answer_time);
  WINNOW_RETURN_IF_ERROR(ToStatus(
      amqp_socket_open_noblock(socket, address.host.c_str(), address.port, &connect_time), doing));
  state->OnConnected(stop);
  WINNOW_RETURN_IF_ERROR(LogIn(state->connection, address));
  amqp_channel_open(state->connection, kChannel);
  WINNOW_RETURN_IF_ERROR(state->LastReply("open a channel"));
  std::unique_ptr<AmqpConnection> connection(new AmqpConnection(std::move(state)));
  WINNOW_RETURN_IF_ERROR(connection->DeclareTopology());
  return connection;
}

Status AmqpConnection::DeclareTopology() {
  amqp_connection_state_t connection = state_->connection;
  const auto exchange = [&](const char* name, const char* type) {
    amqp_exchange_declare(connection, kChannel, amqp_cstring_bytes(name), amqp_cstring_bytes(type),
                          0, 1, 0, 0, amqp_empty_table);
    return state_->LastReply("declare the exchange " + std::string(name));
  };
  const auto queue = [&](const std::string& name, const amqp_table_t& arguments) {
    amqp_queue_declare(connection, kChannel, ToBytes(name), 0, 1, 0, 0, arguments);
    return state_->LastReply("declare the queue " + name +
                             " (one that exists with other arguments is to be deleted first)");
  };
  const auto bind = [&](const std::string& name, const char* source, const std::string& key) {
    amqp_queue_bind(connection, kChannel, ToBytes(name), amqp_cstring_bytes(source), ToBytes(key),
                    amqp_empty_table);
    return state_->LastReply("bind the queue " + name);
  };
  WINNOW_RETURN_IF_ERROR(exchange(kEventExchange, "topic"));
  WINNOW_RETURN_IF_ERROR(exchange(kDeadExchange, "direct"));
  for (const Queue& declared : AllQueues()) {
    std::array arguments{Entry("x-queue-type", "quorum"),
                         Entry("x-delivery-limit", kDeliveryLimit),
                         Entry("x-dead-letter-exchange", kDeadExchange),
                         Entry("x-dead-letter-routing-key", declared.name.c_str()),
                         Entry("x-dead-letter-strategy", "at-least-once"),
                         Entry("x-overflow", "reject-publish"),
                         Entry("x-max-length", kMaxQueueLength)};
    std::array dead_arguments{Entry("x-queue-type", "quorum"),
                              Entry("x-delivery-limit", kDeadDeliveryLimit)};
    const std::string dead = DeadQueueName(declared.name);
    WINNOW_RETURN_IF_ERROR(queue(dead, Table(dead_arguments)));
    WINNOW_RETURN_IF_ERROR(bind(dead, kDeadExchange, declared.name));
    WINNOW_RETURN_IF_ERROR(queue(declared.name, Table(arguments)));
    WINNOW_RETURN_IF_ERROR(bind(declared.name, kEventExchange, declared.event));
  }
  return OkStatus();
}

StatusOr<AmqpConnection::Heard> AmqpConnection::Hear(std::chrono::milliseconds timeout) {
  amqp_maybe_release_buffers(state_->connection);
  const timeval wait = ToTimeval(timeout);
  amqp_frame_t frame{};
  const int code = amqp_simple_wait_frame_noblock(state_->connection, &frame, &wait);
  if (code == AMQP_STATUS_TIMEOUT) return Heard(Quiet{});
  WINNOW_RETURN_IF_ERROR(ToStatus(code, "hear of the broker"));
  if (frame.frame_type != AMQP_FRAME_METHOD) return Away("the broker sent a frame out of order");
  return state_->OnMethod(frame.payload.method);
}

StatusOr<AmqpConnection::Heard> AmqpConnection::State::OnMethod(const amqp_method_t& method) {
  switch (method.id) {
    case AMQP_BASIC_ACK_METHOD: {
      const auto* ack = static_cast<amqp_basic_ack_t*>(method.decoded);
      return Heard(Confirmed{ack->delivery_tag, ack->multiple != 0, true});
    }
    case AMQP_BASIC_NACK_METHOD: {
      const auto* nack = static_cast<amqp_basic_nack_t*>(method.decoded);
      return Heard(Confirmed{nack->delivery_tag, nack->multiple != 0, false});
    }
    case AMQP_BASIC_RETURN_METHOD: {
      WINNOW_ASSIGN_OR_RETURN(Message message, ReadMessage(0));
      return Heard(Returned{std::move(message.message_id)});
    }
    case AMQP_BASIC_DELIVER_METHOD: {
      const auto* deliver = static_cast<amqp_basic_deliver_t*>(method.decoded);
      WINNOW_ASSIGN_OR_RETURN(Message message, ReadMessage(deliver->delivery_tag));
      return Heard(std::move(message));
    }
    case AMQP_CONNECTION_BLOCKED_METHOD: {
      const auto* blocked = static_cast<amqp_connection_blocked_t*>(method.decoded);
      return Heard(Blocked{true, ToString(blocked->reason)});
    }
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
      return Heard(Blocked{false, ""});
    case AMQP_BASIC_CANCEL_METHOD:
      return Away("the broker ended the subscription: its queue was deleted or has moved");
    default:
      return Away("the broker closed the connection: " + CloseText(method));
  }
}

StatusOr<AmqpConnection::Message> AmqpConnection::State::ReadMessage(uint64_t tag) {
  amqp_message_t message{};
  WINNOW_RETURN_IF_ERROR(
      ToStatus(amqp_read_message(connection, kChannel, &message, 0), "read a message"));
  Message out{tag, "", ToString(message.body), amqp::ReadDead(message.properties)};
  if ((message.properties._flags & AMQP_BASIC_MESSAGE_ID_FLAG) != 0) {
    out.message_id = ToString(message.properties.message_id);
  }
  amqp_destroy_message(&message);
  return out;
}

Status AmqpConnection::SelectConfirms() {
  amqp_confirm_select(state_->connection, kChannel);
  return state_->LastReply("select publisher confirms");
}

Status AmqpConnection::Publish(std::string_view exchange, std::string_view key,
                               std::string_view message_id, std::string_view body,
                               const DeadHeaders* dead) {
  amqp_basic_properties_t properties{};
  properties._flags =
      AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_CONTENT_TYPE_FLAG;
  properties.delivery_mode = AMQP_DELIVERY_PERSISTENT;
  properties.message_id = ToBytes(message_id);
  properties.content_type = amqp_cstring_bytes("application/x-protobuf");
  amqp::DeadEntries entries;
  if (dead != nullptr) amqp::WriteDead(*dead, entries, properties);
  // Mandatory: an event that one of ours takes must not be lost with its queue.
  const bool is_mandatory = exchange != kEventExchange || HasQueue(key);
  return ToStatus(amqp_basic_publish(state_->connection, kChannel, ToBytes(exchange), ToBytes(key),
                                     is_mandatory ? 1 : 0, 0, &properties, ToBytes(body)),
                  "publish");
}

Status AmqpConnection::Consume(const std::string& queue, int prefetch) {
  amqp_basic_qos(state_->connection, kChannel, 0, static_cast<uint16_t>(prefetch), 0);
  WINNOW_RETURN_IF_ERROR(state_->LastReply("set the prefetch"));
  amqp_basic_consume(state_->connection, kChannel, ToBytes(queue), amqp_cstring_bytes(kConsumerTag),
                     0, 0, 0, amqp_empty_table);
  return state_->LastReply("consume from " + queue);
}

Status AmqpConnection::Cancel() {
  amqp_basic_cancel(state_->connection, kChannel, amqp_cstring_bytes(kConsumerTag));
  return state_->LastReply("end a subscription");
}

StatusOr<std::optional<AmqpConnection::Message>> AmqpConnection::Get(const std::string& queue) {
  amqp_maybe_release_buffers(state_->connection);
  const amqp_rpc_reply_t reply = amqp_basic_get(state_->connection, kChannel, ToBytes(queue), 0);
  WINNOW_RETURN_IF_ERROR(ToStatus(reply, "get from " + queue));
  if (reply.reply.id == AMQP_BASIC_GET_EMPTY_METHOD) return std::optional<Message>();
  const auto tag = static_cast<amqp_basic_get_ok_t*>(reply.reply.decoded)->delivery_tag;
  WINNOW_ASSIGN_OR_RETURN(Message message, state_->ReadMessage(tag));
  return std::optional<Message>(std::move(message));
}

Status AmqpConnection::Ack(uint64_t tag) {
  return ToStatus(amqp_basic_ack(state_->connection, kChannel, tag, 0), "acknowledge a message");
}

Status AmqpConnection::Recover() {
  amqp_basic_recover(state_->connection, kChannel, /*requeue=*/1);
  return state_->LastReply("give messages back");
}

StatusOr<int64_t> AmqpConnection::CountMessages(const std::string& queue) {
  const auto* found = amqp_queue_declare(state_->connection, kChannel, ToBytes(queue), 1, 1, 0, 0,
                                         amqp_empty_table);
  WINNOW_RETURN_IF_ERROR(state_->LastReply("look at the queue " + queue));
  return int64_t{found->message_count};
}

void AmqpConnection::Close() {
  const timeval goodbye = ToTimeval(state_->times.goodbye);
  amqp_set_rpc_timeout(state_->connection, &goodbye);
  amqp_connection_close(state_->connection, AMQP_REPLY_SUCCESS);  // best effort: it ends either way
}

void AmqpConnection::Shutdown() { state_->Shutdown(); }

std::string AmqpAddress::ToString() const {
  return (tls ? "amqps://" : "amqp://") + user + "@" + host + ":" + std::to_string(port) +
         (vhost == "/" ? "/" : "/" + vhost);
}

StatusOr<AmqpAddress> ParseAmqpUrl(const std::string& url) {
  std::string copy = url;  // the parser writes into it
  amqp_connection_info info{};
  if (amqp_parse_url(copy.data(), &info) != AMQP_STATUS_OK) {
    return InvalidField("events.url",
                        "is not a broker URL: write amqp://USER@HOST:PORT/VHOST, with special "
                        "characters percent-encoded");
  }
  return AmqpAddress{info.host,  info.port,     info.user, info.password,
                     info.vhost, info.ssl != 0, "",        {}};
}

}  // namespace winnow::events
