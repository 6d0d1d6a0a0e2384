#include "services/platform/events/core/topology.h"

#include <algorithm>

namespace winnow::events {

std::string QueueName(std::string_view service, std::string_view event) {
  const size_t dot = event.rfind('.');
  const std::string_view name = dot == std::string_view::npos ? event : event.substr(dot + 1);
  return "winnow." + std::string(service) + "." + std::string(name) + ".v1";
}

std::string DeadQueueName(std::string_view queue) { return std::string(queue) + ".dead"; }

const std::vector<Queue>& AllQueues() {
  const auto queue = [](std::string_view service, std::string_view event) {
    return Queue{QueueName(service, event), std::string(event)};
  };
  static const auto* queues = new std::vector<Queue>{
      queue("dedup", "winnow.events.v1.ItemCollected"),
      queue("newsfeed", "winnow.events.v1.ItemAccepted"),
      queue("newsfeed", "winnow.events.v1.DuplicateFound"),
  };
  return *queues;
}

bool HasQueue(std::string_view event) {
  const auto& queues = AllQueues();
  return std::any_of(queues.begin(), queues.end(),
                     [&](const Queue& queue) { return queue.event == event; });
}

}  // namespace winnow::events
