#include "services/platform/grpc/call/ingest_call.h"

#include "services/platform/grpc/errors/rpc_status.h"

namespace winnow::rpc {
namespace {

// Any number will do: a handler never sees this field.
constexpr int kUnreadField = 1;

Status MalformedMessage(size_t position) {
  return InvalidField("",
                      "message " + std::to_string(position) +
                          " of the stream (counted from 1) is not a valid message of this method: "
                          "its strings must be valid UTF-8; those before it were answered");
}

}  // namespace

void MarkUnread(google::protobuf::Message& message) {
  message.Clear();
  message.GetReflection()->MutableUnknownFields(&message)->AddVarint(kUnreadField, 1);
}

bool IsUnread(const google::protobuf::Message& message) {
  return !message.GetReflection()->GetUnknownFields(message).empty();
}

struct IngestCall::Shared final : public LongCall {
  explicit Shared(IngestCall& ingest) : call(&ingest) {}
  void EndForShutdown() override {
    Lock lock(mutex);
    if (call != nullptr) call->Stop(std::move(lock), ShuttingDown());
  }
  std::optional<Deadline> IdleSince() override {
    const Lock lock(mutex);
    return call == nullptr ? std::nullopt : call->IdleSince();
  }
  void EndForRoom() override {
    Lock lock(mutex);
    if (call == nullptr) return;
    call->Stop(std::move(lock),
               Overloaded("the stream was silent while others waited for its place: open it again "
                          "when there is something to send",
                          Runtime::kRetryAfter));
  }

  std::mutex mutex;
  IngestCall* call;  // null from the moment it finishes
};

IngestCall::IngestCall(Runtime& runtime, const Method& method, grpc::CallbackServerContext& context)
    : record_(runtime, method, context, Lifetime::kStream),
      context_(context),
      shared_(std::make_shared<Shared>(*this)) {}

IngestCall::~IngestCall() { record_.runtime().ingest_bytes().GiveBack(held_bytes_); }

void IngestCall::Begin() {
  Status status = record_.Admit();
  if (status.ok()) {
    place_ = record_.runtime().ingest_streams().Add(shared_);
    if (place_ == nullptr) {
      status = record_.runtime().IngestStreamsFull();
    }
  }
  Lock lock(shared_->mutex);
  begun_ = true;
  if (!status.ok()) Fail(status);
  Advance(std::move(lock));
}

void IngestCall::ReadDone(bool ok) {
  Lock lock(shared_->mutex);
  reading_ = false;
  last_moved_ = std::chrono::steady_clock::now();
  if (ok) {
    ++messages_read_;
    waiting_sizes_.push_back(KeepRead());
    waiting_bytes_ += waiting_sizes_.back();
    held_bytes_ += waiting_sizes_.back();
    record_.runtime().ingest_bytes().Take(waiting_sizes_.back());
  } else {
    if (context_.IsCancelled()) CallerIsGone();
    if (!read_all_ && ReadWasMalformed()) last_ = MalformedMessage(messages_read_ + 1);
    read_all_ = true;
  }
  Advance(std::move(lock));
}

void IngestCall::WriteDone(bool ok) {
  Lock lock(shared_->mutex);
  writing_ = false;
  last_moved_ = std::chrono::steady_clock::now();
  DropWritten();
  --answers_left_;
  if (!ok) CallerIsGone();
  Advance(std::move(lock));
}

void IngestCall::CancelByCaller() {
  Lock lock(shared_->mutex);
  CallerIsGone();
  Advance(std::move(lock));
}

void IngestCall::CallerIsGone() {
  record_.Cancel();
  broken_ = true;
  Fail(Cancelled("the client cancelled the call"));
}

// Takes no more in, and answers what has come.
void IngestCall::Stop(Lock lock, const Status& why) {
  if (!read_all_) last_ = why;
  read_all_ = true;
  Advance(std::move(lock));
}

std::optional<Deadline> IngestCall::IdleSince() const {
  const bool waits_for_caller =
      reading_ && waiting_sizes_.empty() && !running_ && begun_batches_.empty();
  return waits_for_caller && answers_left_ == 0 ? std::optional(last_moved_) : std::nullopt;
}

void IngestCall::Fail(const Status& status) {
  if (!failure_) failure_ = status;
}

std::mutex& IngestCall::shared_mutex() const { return shared_->mutex; }

// May be called when the call is gone: of a batch that was refused, or never begun.
std::function<void()> IngestCall::ReadyOf(uint64_t number) {
  return [shared = shared_, number] {
    Lock lock(shared->mutex);
    if (shared->call != nullptr) shared->call->BecomeReady(std::move(lock), number);
  };
}

void IngestCall::BecomeReady(Lock lock, uint64_t number) {
  if (number < first_begun_) return;
  begun_batches_[number - first_begun_].is_ready = true;
  Advance(std::move(lock));
}

void IngestCall::Run() {
  Lock lock(shared_->mutex);
  const size_t count = std::min(waiting_sizes_.size(), kMaxIngestBatch);
  TakeBatch(count);
  Begun& batch = begun_batches_.emplace_back();
  for (size_t i = 0; i < count; ++i) {
    batch.bytes += waiting_sizes_.front();
    waiting_sizes_.pop_front();
  }
  waiting_bytes_ -= batch.bytes;
  const uint64_t number = first_begun_ + begun_batches_.size() - 1;
  // A batch behind one that failed in the meantime would never be answered.
  StatusOr<std::function<Status()>> answers =
      failure_.value_or(Cancelled("the client cancelled the call"));
  const bool is_wanted = !failure_;
  lock.unlock();
  const Status status = CallRecord::CatchAll([&] {
    if (is_wanted && !record_.cancelled())
      answers = BeginBatch(record_.BatchCall(), ReadyOf(number));
    return answers.status();
  });
  lock.lock();
  running_ = false;
  begin_failed_ = !status.ok();
  if (!status.ok()) answers = status;
  begun_batches_[number - first_begun_].answers = std::move(answers);
  if (!MayCollect()) return Advance(std::move(lock));
  collecting_ = true;
  Collect(std::move(lock));
}

bool IngestCall::MayCollect() const {
  if (collecting_ || begun_batches_.empty()) return false;
  const Begun& batch = begun_batches_.front();
  return batch.answers && (batch.is_ready || !batch.answers->ok());
}

void IngestCall::Collect(Lock lock) {
  const StatusOr<std::function<Status()>> answers = *std::move(begun_batches_.front().answers);
  lock.unlock();
  const Status status = answers.ok() ? CallRecord::CatchAll(*answers) : answers.status();
  lock.lock();
  const size_t bytes = begun_batches_.front().bytes;
  begun_batches_.pop_front();
  ++first_begun_;
  held_bytes_ -= bytes;
  record_.runtime().ingest_bytes().GiveBack(bytes);
  // Behind a batch that failed no answer would be of the message that it seems to be of.
  if (status.ok() && !failure_) answers_left_ += KeepAnswers();
  if (!status.ok()) Fail(status);
  collecting_ = false;
  Advance(std::move(lock));
}

bool IngestCall::MayRead() const {
  return !reading_ && !read_all_ && !failure_ && waiting_sizes_.size() < kMaxIngestWaiting &&
         waiting_bytes_ < kMaxIngestBytes && record_.runtime().ingest_bytes().Fits(held_bytes_, 0);
}

bool IngestCall::MayBegin() const {
  return !running_ && !failure_ && !begin_failed_ && !waiting_sizes_.empty() &&
         begun_batches_.size() < kMaxIngestBegun && answers_left_ <= kMaxIngestBatch;
}

bool IngestCall::MayFinish() const {
  if (running_ || writing_ || !begun_batches_.empty()) return false;
  if (broken_) return true;
  return answers_left_ == 0 && (failure_ || (read_all_ && waiting_sizes_.empty()));
}

void IngestCall::Advance(Lock lock) {
  if (!begun_ || finished_) return;
  if (MayRead()) {
    reading_ = true;
    Read();
  }
  if (MayCollect()) {
    collecting_ = true;
    record_.runtime().pool(record_.lane()).Push(collector_);
  }
  // The next batch is begun while the last one's answers are made and written, no further ahead.
  if (MayBegin()) {
    running_ = true;
    record_.runtime().pool(record_.lane()).Push(*this);
  }
  if (!writing_ && !broken_ && answers_left_ > 0) {
    writing_ = true;
    // The first write carries the initial metadata, which gRPC does not send, nor complete, as long
    // as more are announced.
    Write(wrote_before_ && answers_left_ > 1);
    wrote_before_ = true;
  }
  if (!MayFinish()) return;
  finished_ = true;
  shared_->call = nullptr;
  lock.unlock();
  FinishIngest(record_.End(failure_ ? *failure_ : last_));
}

}  // namespace winnow::rpc
