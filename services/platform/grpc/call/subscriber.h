#pragma once

#include <memory>
#include <utility>

#include "services/platform/base/status.h"

// A watch as those who feed it see it. No gRPC in here: handlers and workers may include it.
namespace winnow::rpc {

// Responses that wait for their reader, at most; beyond, the watch ends.
inline constexpr size_t kMaxWatchQueue = 1000;

// One subscriber of a stream; copies are the same subscriber. Any thread may call it. Dropping the
// last copy without End ends the watch with INTERNAL, so that none hangs.
template <class Response>
class Subscriber {
 public:
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual bool Send(Response response) = 0;
    virtual void End(const Status& status) = 0;
    virtual bool Ended() const = 0;
    virtual bool Idle() const = 0;
  };
  explicit Subscriber(std::shared_ptr<Sink> sink) : sink_(std::move(sink)) {}

  // Queues a response; never blocks. False when the watch has ended: drop the subscriber. A reader
  // that is kMaxWatchQueue behind, or takes more than its part of the memory for all watches, is
  // ended with READER_TOO_SLOW; it resumes by its token.
  bool Send(Response response) const { return sink_->Send(std::move(response)); }
  // Ends the watch after what is queued; OK ends it in peace.
  void End(const Status& status) const { sink_->End(status); }
  bool Ended() const { return sink_->Ended(); }
  // Whether nothing is queued: for who sends a long history page by page.
  bool Idle() const { return sink_->Idle(); }

 private:
  std::shared_ptr<Sink> sink_;
};

}  // namespace winnow::rpc
