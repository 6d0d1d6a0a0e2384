#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>

#include "services/app/client/interrupt.h"
#include "services/app/client/remote.h"
#include "services/app/import/refusal.h"
#include "services/platform/base/status.h"
#include "winnow/collector/v1/collector_service.grpc.pb.h"

namespace winnow::app {

// What the server made of an item.
struct Stored {
  std::string id;
  // False when it was there before this import. An item that was sent, not answered, and sent again
  // over a new connection counts as stored by this import.
  bool created = false;
};
using LineResult = std::variant<Refusal, Stored>;

// Sends lines over CollectorService.IngestItems and reports the outcome of each, in order. A
// connection that breaks is made again and what was not answered is sent again: the server knows an
// item by its channel and address.
class ItemSender {
 public:
  // Called in the order of the lines, one at a time, from any thread. It must not call back.
  using OnSettled = std::function<void(int64_t line, LineResult result)>;

  ItemSender(const Remote& remote, const Interrupt& interrupt, OnSettled on_settled);
  ~ItemSender();  // cuts off what is unanswered

  // Blocks while too much is unanswered. Errors: the server stays away or refuses the stream;
  // CANCELLED when interrupted.
  Status Send(int64_t line, collector::v1::Item item);
  // A line that does not go in takes its turn among the others.
  Status Refuse(int64_t line, Refusal refusal);
  // Waits until every line is settled. Error: as Send, or DEADLINE_EXCEEDED after `limit`.
  Status Finish(std::chrono::seconds limit = std::chrono::hours(24));

 private:
  struct Entry {
    int64_t line = 0;
    collector::v1::IngestItemsRequest request;
    std::optional<Refusal> refusal;
    size_t bytes = 0;
    bool sent = false;  // over this connection or an earlier one
    bool sent_before = false;
  };
  using Stream = grpc::ClientReaderWriter<collector::v1::IngestItemsRequest,
                                          collector::v1::IngestItemsResponse>;

  Status Enqueue(Entry entry);
  bool IsFull() const;
  void CutOffWhenStalled();
  void Run();
  bool WaitToRetry(const Status& status, int failures,
                   std::chrono::steady_clock::time_point failing_since);
  Status RunStream(int& answered);
  void WriteAll(Stream& stream);
  Entry* NextToWrite(bool& more);
  Status Settle(collector::v1::IngestItemsResponse& response);
  void SettleRefusals();

  const Remote& remote_;
  const Interrupt& interrupt_;
  const OnSettled on_settled_;
  const std::unique_ptr<collector::v1::CollectorService::Stub> stub_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> entries_;  // not settled, in order
  size_t next_ = 0;            // of entries_: the first that this connection has not been given
  size_t bytes_ = 0;           // of all entries
  bool closing_ = false;
  bool aborted_ = false;
  bool stream_over_ = true;
  bool ended_ = false;  // Run() has returned
  Status error_;        // why it ended early
  grpc::ClientContext* context_ = nullptr;
  std::chrono::steady_clock::time_point last_progress_;
  std::thread runner_;
};

}  // namespace winnow::app
