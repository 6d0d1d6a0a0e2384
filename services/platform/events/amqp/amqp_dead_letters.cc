#include "services/platform/events/amqp/amqp_dead_letters.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "services/platform/base/hash.h"
#include "services/platform/base/utf8.h"
#include "services/platform/events/core/consumer.h"
#include "services/platform/events/core/topology.h"

namespace winnow::events {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Bytes that one call holds of one queue, at most.
constexpr size_t kMaxHeldBytes = size_t{64} << 20U;
// Nothing more comes when nothing came for so long: another call holds the rest.
constexpr milliseconds kQuietTime{1'000};

DeadLetterRecord ToRecord(const Queue& queue, const AmqpConnection::Message& message) {
  DeadLetterRecord record;
  const std::string name = message.message_id.empty() ? "~" + std::to_string(Hash64(message.body))
                                                      : ReplaceInvalidUtf8(message.message_id);
  record.id = queue.name + "/" + name;
  record.queue = queue.name;
  record.event = queue.event;
  record.reason = KeptReason(message.dead.reason);
  record.attempts = message.dead.attempts;
  record.dead_time = message.dead.time;
  record.key = {queue.name, record.dead_time.time_since_epoch().count(), record.id};
  DescribeEnvelope(message.body, record);
  return record;
}

// By name, as listings go.
std::vector<Queue> ChosenQueues(const DeadLetterSelection& selection) {
  std::vector<Queue> chosen;
  for (const Queue& queue : AllQueues()) {
    const bool named = selection.queue.empty() || queue.name == selection.queue;
    if (named && (selection.event.empty() || queue.event == selection.event)) {
      chosen.push_back(queue);
    }
  }
  std::sort(chosen.begin(), chosen.end(),
            [](const Queue& a, const Queue& b) { return a.name < b.name; });
  return chosen;
}

// One look through the dead letters of a call's queues, over a connection of its own: what is not
// settled returns to its queue with it.
class Walk {
 public:
  using Visit = std::function<Status(AmqpConnection::Message)>;

  explicit Walk(Deadline deadline) : deadline_(deadline) {}

  Status Open(const AmqpAddress& address, const std::stop_token& stop) {
    WINNOW_ASSIGN_OR_RETURN(connection_, AmqpConnection::Open(address, stop, deadline_));
    return connection_->SelectConfirms();
  }
  // One queue after the other, each Finished. Whether all of it were looked at.
  StatusOr<bool> Each(const Queue& queue, const Visit& visit);
  Status Forget(const AmqpConnection::Message& message) { return connection_->Ack(message.tag); }
  // Publishes it where it came from; it is forgotten when the broker has confirmed that.
  Status Replay(const AmqpConnection::Message& message) {
    publications_[++last_publication_] = message.tag;
    return connection_->Publish("", queue_, message.message_id, message.body);
  }
  // Until all that was replayed is confirmed, all that was forgotten is gone, and the rest is back.
  Status Finish();

 private:
  StatusOr<AmqpConnection::Heard> Hear();
  Status Settle(const AmqpConnection::Heard& heard);

  const Deadline deadline_;
  std::string queue_;
  std::unique_ptr<AmqpConnection> connection_;
  std::map<uint64_t, uint64_t> publications_;  // unconfirmed ones; the delivery that each repeats
  uint64_t last_publication_ = 0;
  bool holding_ = false;  // messages of the queue
};

StatusOr<AmqpConnection::Heard> Walk::Hear() {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline_ - steady_clock::now());
  if (left <= milliseconds(0)) return DeadlineExceeded("the broker is slow to give dead letters");
  return connection_->Hear(std::min(left, kQuietTime));
}

// What the broker says of a replay.
Status Walk::Settle(const AmqpConnection::Heard& heard) {
  if (std::holds_alternative<AmqpConnection::Returned>(heard)) {
    return Unavailable(Reason::kBrokerUnavailable, "the queue " + queue_ + " is gone",
                       std::chrono::seconds(1));
  }
  if (const auto* blocked = std::get_if<AmqpConnection::Blocked>(&heard)) {
    if (!blocked->blocked) return OkStatus();
    return Unavailable(Reason::kBrokerUnavailable, "the broker takes no events: " + blocked->reason,
                       std::chrono::seconds(1));
  }
  const auto* confirmed = std::get_if<AmqpConnection::Confirmed>(&heard);
  if (confirmed == nullptr) return OkStatus();
  if (!confirmed->ok) {
    return Overloaded("the queue " + queue_ + " is full", std::chrono::seconds(5));
  }
  const auto last = publications_.upper_bound(confirmed->tag);
  const auto first =
      confirmed->multiple ? publications_.begin() : publications_.lower_bound(confirmed->tag);
  for (auto it = first; it != last; ++it) WINNOW_RETURN_IF_ERROR(connection_->Ack(it->second));
  publications_.erase(first, last);
  return OkStatus();
}

StatusOr<bool> Walk::Each(const Queue& queue, const Visit& visit) {
  queue_ = queue.name;
  const std::string dead_queue = DeadQueueName(queue_);
  // What another look gave back may be on its way yet: the broker counts without waiting for that,
  // but gives a message only behind it.
  WINNOW_ASSIGN_OR_RETURN(auto first, connection_->Get(dead_queue));
  if (!first) return true;
  holding_ = true;
  WINNOW_ASSIGN_OR_RETURN(const int64_t others, connection_->CountMessages(dead_queue));
  const int64_t waiting = others + 1;
  const int64_t most = std::min<int64_t>(waiting, kMaxDeadLetters);
  WINNOW_RETURN_IF_ERROR(connection_->Consume(dead_queue, static_cast<int>(most)));
  size_t bytes = first->body.size();
  int64_t seen = 1;
  WINNOW_RETURN_IF_ERROR(visit(*std::move(first)));
  while (seen < most && bytes < kMaxHeldBytes) {
    WINNOW_ASSIGN_OR_RETURN(AmqpConnection::Heard heard, Hear());
    if (std::holds_alternative<AmqpConnection::Quiet>(heard)) break;
    auto* message = std::get_if<AmqpConnection::Message>(&heard);
    if (message == nullptr) {
      WINNOW_RETURN_IF_ERROR(Settle(heard));
      continue;
    }
    ++seen;
    bytes += message->body.size();
    WINNOW_RETURN_IF_ERROR(visit(std::move(*message)));
  }
  return seen == waiting;
}

Status Walk::Finish() {
  while (!publications_.empty()) {
    WINNOW_ASSIGN_OR_RETURN(const AmqpConnection::Heard heard, Hear());
    WINNOW_RETURN_IF_ERROR(Settle(heard));
  }
  if (!std::exchange(holding_, false)) return OkStatus();
  WINNOW_RETURN_IF_ERROR(connection_->Cancel());
  while (true) {
    WINNOW_ASSIGN_OR_RETURN(const AmqpConnection::Heard heard, connection_->Hear(milliseconds(0)));
    if (std::holds_alternative<AmqpConnection::Quiet>(heard)) break;
  }
  // The broker may lose what it was sent last when the channel ends: its answer comes after all
  // that.
  return connection_->Recover();
}

}  // namespace

StatusOr<std::vector<DeadLetterRecord>> AmqpDeadLetters::List(
    Deadline deadline, const DeadLetterSelection& selection,
    const std::optional<DeadLetterKey>& after, size_t limit) {
  const std::unique_lock turn(one_at_a_time_, deadline);
  if (!turn) return DeadlineExceeded("other calls look at the dead letters");
  Walk walk(deadline);
  WINNOW_RETURN_IF_ERROR(walk.Open(address_, stop_.get_token()));
  std::vector<DeadLetterRecord> records;
  for (const Queue& queue : ChosenQueues(selection)) {
    if (records.size() >= limit) break;
    if (after && queue.name < after->source) continue;
    std::vector<DeadLetterRecord> found;
    const auto keep = [&](const AmqpConnection::Message& message) {
      DeadLetterRecord record = ToRecord(queue, message);
      if (!after || record.key > *after) found.push_back(std::move(record));
      return OkStatus();
    };
    WINNOW_RETURN_IF_ERROR(walk.Each(queue, keep).status());
    WINNOW_RETURN_IF_ERROR(walk.Finish());
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.key < b.key; });
    const size_t room = std::min(limit - records.size(), found.size());
    std::move(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(room),
              std::back_inserter(records));
  }
  return records;
}

StatusOr<DeadLetterOutcome> AmqpDeadLetters::Apply(Deadline deadline,
                                                   const DeadLetterSelection& selection,
                                                   DeadLetterAction action) {
  const std::unique_lock turn(one_at_a_time_, deadline);
  if (!turn) return DeadlineExceeded("other calls look at the dead letters");
  const std::set<std::string> wanted(selection.ids.begin(), selection.ids.end());
  std::set<std::string> found;
  DeadLetterOutcome outcome;
  Walk walk(deadline);
  WINNOW_RETURN_IF_ERROR(walk.Open(address_, stop_.get_token()));
  for (const Queue& queue : ChosenQueues(selection)) {
    const auto settle = [&](const AmqpConnection::Message& message) {
      if (outcome.count >= kMaxDeadLetters) return OkStatus();
      const std::string id = ToRecord(queue, message).id;
      if (!wanted.empty() && !wanted.contains(id)) return OkStatus();
      found.insert(id);
      ++outcome.count;
      if (action == DeadLetterAction::kCount) return OkStatus();
      return action == DeadLetterAction::kPurge ? walk.Forget(message) : walk.Replay(message);
    };
    WINNOW_ASSIGN_OR_RETURN(const bool all, walk.Each(queue, settle));
    outcome.limit_reached = outcome.limit_reached || !all;
    WINNOW_RETURN_IF_ERROR(walk.Finish());
  }
  outcome.limit_reached = outcome.limit_reached || outcome.count >= kMaxDeadLetters;
  for (const std::string& id : selection.ids) {
    if (!found.contains(id)) outcome.missing_ids.push_back(id);
  }
  return outcome;
}

}  // namespace winnow::events
