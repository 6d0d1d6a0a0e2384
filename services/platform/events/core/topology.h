#pragma once

#include <string>
#include <string_view>
#include <vector>

// What Winnow has on the broker. helm/winnow/templates/rabbitmq.yaml publishes the same.
namespace winnow::events {

inline constexpr char kEventExchange[] = "winnow.events";      // topic
inline constexpr char kDeadExchange[] = "winnow.events.dead";  // direct
// Deliveries the broker makes before it dead-letters by itself: above any max_deliveries, so that
// it is only for consumers that die with the event. (The deliveries that an outage of ours makes
// are few: a consumer holds what it cannot do.)
inline constexpr int kDeliveryLimit = 1000;
// The same of the queues of dead letters, where each look at a message is a delivery: never, since
// what they hold has nowhere else to go. (RabbitMQ 4 would take 20 for a limit that is not set.)
inline constexpr int kDeadDeliveryLimit = 1'000'000'000;
// Messages a queue takes; more are refused and stay in the outbox.
inline constexpr int kMaxQueueLength = 1'000'000;

struct Queue {
  std::string name;  // "winnow.dedup.ItemCollected.v1"; its dead letters are in "<name>.dead"
  std::string event;
};

// "winnow.dedup.ItemCollected.v1" of "dedup" and "winnow.events.v1.ItemCollected".
std::string QueueName(std::string_view service, std::string_view event);
std::string DeadQueueName(std::string_view queue);

// Every queue of this version. Each process declares all of them before it publishes, so that an
// event waits for its consumer also when that has never run.
const std::vector<Queue>& AllQueues();

// Whether a service of ours takes the event. What none takes goes to the queues that others have
// bound to it, if any.
bool HasQueue(std::string_view event);

}  // namespace winnow::events
