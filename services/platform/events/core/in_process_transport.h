#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "services/platform/events/core/consumer_queue.h"
#include "services/platform/events/core/transport.h"
#include "services/platform/postgres/pool/pool.h"
#include "services/platform/process/metrics.h"

namespace winnow::events {

struct InProcessOptions {
  QueueOptions queue;
  // How often an outbox is looked at without a Wake.
  std::chrono::milliseconds poll_interval{100};
  // Of several processes on one schema one drains it; after a crash of that one another takes over
  // within this time.
  std::chrono::milliseconds lease{5'000};
};

// Events go from the outboxes to consumers of this process; "inprocess:". A row leaves its outbox
// when every consumer of its event here has it done or dead-lettered; one that nobody here consumes
// leaves at once. After a restart what was not done is delivered again.
class InProcessTransport final : public Transport {
 public:
  // `pool` and `metrics` outlive the transport.
  InProcessTransport(pg::Pool& pool, Metrics& metrics, InProcessOptions options);
  ~InProcessTransport() override;  // stops at once if Stop was not called

  void AddConsumer(Consumer consumer) override;
  void AddProducer(const std::string& schema) override;
  Status Start() override;
  // Also delivers what is still in the outboxes, as far as the deadline allows. Events that wait
  // for another try stay. Ends later than `deadline` only by the delivery that is running then.
  void Stop(Deadline deadline) override;
  void Wake(const std::string& schema) override;
  Status Check() override;
  DeadLetters& dead_letters() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace winnow::events
