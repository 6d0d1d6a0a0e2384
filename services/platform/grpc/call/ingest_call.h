#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "services/platform/grpc/call/call_record.h"

namespace winnow::rpc {

// Messages that an Ingest stream hands to its handler at once, at most.
inline constexpr size_t kMaxIngestBatch = 1000;
// Reading stops when this much waits for the handler, or less when other streams hold much
// (ByteBudget): then flow control reaches the sender.
inline constexpr size_t kMaxIngestWaiting = 2 * kMaxIngestBatch;
inline constexpr size_t kMaxIngestBytes = size_t{4} << 20;

// Batches that are begun and not answered yet: one is prepared while the other's work waits.
inline constexpr size_t kMaxIngestBegun = 2;

// When an ingest stream reads, handles, writes and finishes. What depends on its types is below.
class IngestCall : private Job {
 public:
  void Begin();

 protected:
  IngestCall(Runtime& runtime, const Method& method, grpc::CallbackServerContext& context);
  ~IngestCall() override;

  void ReadDone(bool ok);
  void WriteDone(bool ok);
  void CancelByCaller();

 private:
  // What outlives the call, which belongs to gRPC: its lock, and how shutdown reaches it.
  struct Shared;
  using Lock = std::unique_lock<std::mutex>;

  // With the lock held.
  virtual void Read() = 0;
  virtual bool ReadWasMalformed() const = 0;  // of a read that failed: whether something came
  virtual size_t KeepRead() = 0;              // queues what was read; its bytes
  virtual void TakeBatch(size_t count) = 0;   // the first that wait become the handler's
  virtual size_t KeepAnswers() = 0;           // the handler's answers are to be written; how many
  virtual void Write(bool more_follow) = 0;   // the first answer
  virtual void DropWritten() = 0;
  // Without. Begins the batch; what it gives asks for the answers that KeepAnswers takes, and is
  // called once `ready` was.
  virtual StatusOr<std::function<Status()>> BeginBatch(const CallContext& call,
                                                       std::function<void()> ready) = 0;
  virtual void FinishIngest(const grpc::Status& status) = 0;

  // A batch from when the handler gets it until its answers are there.
  struct Begun {
    size_t bytes = 0;
    bool is_ready = false;
    std::optional<StatusOr<std::function<Status()>>> answers;  // once the handler has returned
  };
  // The job that asks for answers which became ready after the handler had returned.
  struct Collector final : public Job {
    explicit Collector(IngestCall& ingest) : call(ingest) {}
    void Run() override { call.Collect(Lock(call.shared_mutex())); }
    IngestCall& call;
  };

  void Run() final;
  std::function<void()> ReadyOf(uint64_t number);
  void BecomeReady(Lock lock, uint64_t number);
  // Of the batches in turn, with the lock held.
  bool MayCollect() const;
  void Collect(Lock lock);
  std::mutex& shared_mutex() const;
  void Stop(Lock lock, const Status& why);
  std::optional<Deadline> IdleSince() const;
  void Fail(const Status& status);
  void CallerIsGone();
  // Starts all that may go on now. The call may be deleted when it returns.
  void Advance(Lock lock);
  bool MayRead() const;
  bool MayBegin() const;
  bool MayFinish() const;

  CallRecord record_;
  grpc::CallbackServerContext& context_;
  const std::shared_ptr<Shared> shared_;
  std::unique_ptr<LongCalls::Place> place_;
  Collector collector_{*this};

  // Guarded by the lock.
  std::optional<Status> failure_;  // ends the stream after the answers that are already there
  Status last_ = OkStatus();       // ends it after all that was read is answered
  bool begun_ = false;
  bool read_all_ = false;
  bool reading_ = false;
  bool running_ = false;     // the handler is begun with a batch, or is to be
  bool collecting_ = false;  // a thread collects responses, or is about to
  bool begin_failed_ = false;
  std::deque<Begun> begun_batches_;  // the last of them may still be with the handler
  uint64_t first_begun_ = 0;         // number of the first of these
  bool writing_ = false;
  bool wrote_before_ = false;
  bool broken_ = false;  // the caller is gone: writes lead nowhere
  bool finished_ = false;
  std::deque<size_t> waiting_sizes_;
  size_t waiting_bytes_ = 0;
  size_t held_bytes_ = 0;  // those, and the begun batches': what the budget knows of
  Deadline last_moved_ = std::chrono::steady_clock::now();
  size_t answers_left_ = 0;
  size_t messages_read_ = 0;
};

// A message that nothing was read into looks unlike any that something was: a read that fails
// because the bytes are not a valid message has cleared it, one that fails because the caller has
// sent all has not. gRPC does not distinguish the two.
void MarkUnread(google::protobuf::Message& message);
bool IsUnread(const google::protobuf::Message& message);

template <class Request, class Response, class Handler>
class TypedIngestCall final : public grpc::ServerBidiReactor<Request, Response>, public IngestCall {
 public:
  TypedIngestCall(Runtime& runtime, const Method& method, grpc::CallbackServerContext& context,
                  Handler handler)
      : IngestCall(runtime, method, context), handler_(std::move(handler)) {}

 private:
  void OnReadDone(bool ok) override { ReadDone(ok); }
  void OnWriteDone(bool ok) override { WriteDone(ok); }
  void OnCancel() override { CancelByCaller(); }
  void OnDone() override { delete this; }

  void Read() override {
    MarkUnread(slot_);
    this->StartRead(&slot_);
  }
  bool ReadWasMalformed() const override { return !IsUnread(slot_); }
  size_t KeepRead() override {
    waiting_.push_back(std::move(slot_));
    slot_ = Request();
    return waiting_.back().ByteSizeLong();
  }
  void TakeBatch(size_t count) override {
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
    batch_.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
  }
  StatusOr<std::function<Status()>> BeginBatch(const CallContext& call,
                                               std::function<void()> ready) override {
    WINNOW_ASSIGN_OR_RETURN(IngestAnswers<Response> answers,
                            handler_(call, std::span<const Request>(batch_), std::move(ready)));
    return [this, answers = std::move(answers), count = batch_.size()] {
      return Collect(answers(), count);
    };
  }
  Status Collect(StatusOr<std::vector<Response>> answers, size_t count) {
    if (!answers.ok()) return answers.status();
    if (answers->size() != count) {
      return Internal("an ingest handler answered " + std::to_string(answers->size()) + " of " +
                      std::to_string(count) + " messages");
    }
    new_answers_ = *std::move(answers);
    return OkStatus();
  }
  size_t KeepAnswers() override {
    const size_t count = new_answers_.size();
    std::move(new_answers_.begin(), new_answers_.end(), std::back_inserter(answers_));
    new_answers_.clear();
    return count;
  }
  void Write(bool more_follow) override {
    grpc::WriteOptions options;
    if (more_follow) options.set_buffer_hint();
    this->StartWrite(&answers_.front(), options);
  }
  void DropWritten() override { answers_.pop_front(); }
  void FinishIngest(const grpc::Status& status) override { this->Finish(status); }

  Handler handler_;
  Request slot_;
  std::deque<Request> waiting_;
  std::vector<Request> batch_;         // the handler's while it runs
  std::vector<Response> new_answers_;  // of the collecting thread
  std::deque<Response> answers_;
};

}  // namespace winnow::rpc
