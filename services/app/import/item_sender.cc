#include "services/app/import/item_sender.h"

#include <algorithm>

#include "services/app/import/refusal.h"
#include "services/platform/grpc/errors/rpc_status.h"

namespace winnow::app {
namespace {

using collector::v1::CollectorService;
using collector::v1::IngestItemsResponse;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr size_t kMaxUnanswered = 4000;
constexpr size_t kMaxUnansweredBytes = 32 << 20;
// How long the server may take for an answer, or stay away, before the import gives up.
constexpr seconds kPatience{60};
// How often a wait polls what has no notification: Ctrl-C, a silent server.
constexpr milliseconds kTick{200};
constexpr milliseconds kFirstDelay{100};
constexpr milliseconds kMaxDelay{2000};

}  // namespace

ItemSender::ItemSender(const Remote& remote, const Interrupt& interrupt, OnSettled on_settled)
    : remote_(remote),
      interrupt_(interrupt),
      on_settled_(std::move(on_settled)),
      stub_(CollectorService::NewStub(remote.channel())),
      last_progress_(steady_clock::now()),
      runner_([this] { Run(); }) {}

ItemSender::~ItemSender() {
  {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    if (context_ != nullptr) context_->TryCancel();
    changed_.notify_all();
  }
  runner_.join();
}

Status ItemSender::Send(int64_t line, collector::v1::Item item) {
  Entry entry;
  entry.line = line;
  *entry.request.mutable_item() = std::move(item);
  entry.bytes = entry.request.ByteSizeLong();
  return Enqueue(std::move(entry));
}

Status ItemSender::Refuse(int64_t line, Refusal refusal) {
  Entry entry;
  entry.line = line;
  entry.refusal = std::move(refusal);
  return Enqueue(std::move(entry));
}

bool ItemSender::IsFull() const {
  return entries_.size() >= kMaxUnanswered || bytes_ >= kMaxUnansweredBytes;
}

Status ItemSender::Enqueue(Entry entry) {
  std::unique_lock lock(mutex_);
  while (IsFull() && !ended_) {
    if (interrupt_.requested()) return Status(StatusCode::kCancelled, "interrupted");
    changed_.wait_for(lock, kTick);
    CutOffWhenStalled();
  }
  if (ended_) return error_;
  if (entries_.empty()) last_progress_ = steady_clock::now();
  bytes_ += entry.bytes;
  entries_.push_back(std::move(entry));
  SettleRefusals();
  changed_.notify_all();
  return OkStatus();
}

Status ItemSender::Finish(seconds limit) {
  const auto deadline = steady_clock::now() + limit;
  std::unique_lock lock(mutex_);
  closing_ = true;
  changed_.notify_all();
  while (!ended_) {
    if (steady_clock::now() >= deadline) {
      return DeadlineExceeded("the server has not answered everything in time");
    }
    changed_.wait_for(lock, kTick);
    CutOffWhenStalled();
  }
  return error_;
}

// A stopped server keeps the connection and says nothing.
void ItemSender::CutOffWhenStalled() {
  const bool owed = !entries_.empty() && entries_.front().sent;
  if (owed && context_ != nullptr && steady_clock::now() - last_progress_ > kPatience) {
    context_->TryCancel();
  }
}

void ItemSender::Run() {
  Status status;
  int failures = 0;
  auto failing_since = steady_clock::now();
  do {
    int answered = 0;
    status = RunStream(answered);
    failures = answered > 0 ? 1 : failures + 1;
    if (failures == 1) failing_since = steady_clock::now();
  } while (!status.ok() && WaitToRetry(status, failures, failing_since));
  const std::lock_guard lock(mutex_);
  ended_ = true;
  error_ = status;
  changed_.notify_all();
}

// False to give up.
bool ItemSender::WaitToRetry(const Status& status, int failures,
                             steady_clock::time_point failing_since) {
  if (!IsTransient(status)) return false;
  milliseconds delay = kFirstDelay * (1 << std::min(failures - 1, 10));
  delay = std::max(std::min(delay, kMaxDelay), RetryAfterOf(status).value_or(milliseconds(0)));
  const auto until = steady_clock::now() + delay;
  if (until - failing_since > kPatience) return false;
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [&] { return aborted_; });
  return !aborted_;
}

Status ItemSender::RunStream(int& answered) {
  grpc::ClientContext context;
  remote_.PrepareStream(context);
  {
    const std::lock_guard lock(mutex_);
    if (aborted_) return Status(StatusCode::kCancelled, "interrupted");
    context_ = &context;
    last_progress_ = steady_clock::now();  // a new stream has its own patience
    stream_over_ = false;
    next_ = 0;
    for (Entry& entry : entries_) entry.sent_before = entry.sent;
  }
  const auto stream = stub_->IngestItems(&context);
  std::thread writer([&] { WriteAll(*stream); });
  Status settled;
  IngestItemsResponse response;
  while (settled.ok() && stream->Read(&response)) {
    settled = Settle(response);
    if (settled.ok()) ++answered;
  }
  if (!settled.ok()) context.TryCancel();
  {
    const std::lock_guard lock(mutex_);
    stream_over_ = true;
    changed_.notify_all();
  }
  writer.join();
  const Status ended = ToStatus(stream->Finish());
  const std::lock_guard lock(mutex_);
  context_ = nullptr;
  if (!settled.ok()) return settled;
  if (ended.code() == StatusCode::kCancelled && !aborted_) {
    return DeadlineExceeded("the server gave no answer for " + std::to_string(kPatience.count()) +
                            " s");
  }
  if (ended.ok() && (!entries_.empty() || !closing_)) {
    return Status(StatusCode::kUnavailable, "the server ended the stream early");
  }
  return ended;
}

// The next entry to write, or null when this connection is done. `more`: another one waits.
ItemSender::Entry* ItemSender::NextToWrite(bool& more) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (stream_over_ || aborted_) return nullptr;
    while (next_ < entries_.size() && entries_[next_].refusal) ++next_;
    if (next_ < entries_.size()) break;
    if (closing_) return nullptr;
    changed_.wait(lock);
  }
  Entry& entry = entries_[next_++];
  entry.sent = true;
  while (next_ < entries_.size() && entries_[next_].refusal) ++next_;
  more = next_ < entries_.size();
  return &entry;
}

void ItemSender::WriteAll(Stream& stream) {
  bool more = false;
  // An entry stays where it is until it is answered, which cannot be before it is written.
  while (const Entry* entry = NextToWrite(more)) {
    grpc::WriteOptions options;
    if (more) options.set_buffer_hint();
    if (!stream.Write(entry->request, options)) return;
  }
  stream.WritesDone();
}

Status ItemSender::Settle(IngestItemsResponse& response) {
  const std::lock_guard lock(mutex_);
  if (next_ == 0 || entries_.empty()) return Internal("the server answered what was not sent");
  Entry& entry = entries_.front();
  auto& result = *response.mutable_result();
  if (result.has_error()) {
    const Status error = rpc::FromRpcStatus(result.error());
    if (IsTransient(error)) return error;  // no refusal: it is sent again
    on_settled_(entry.line, ToRefusal(error));
  } else {
    const bool created = result.stored().created() || entry.sent_before;
    on_settled_(entry.line, Stored{result.stored().id(), created});
  }
  bytes_ -= entry.bytes;
  entries_.pop_front();
  --next_;
  last_progress_ = steady_clock::now();
  SettleRefusals();
  changed_.notify_all();
  return OkStatus();
}

void ItemSender::SettleRefusals() {
  while (!entries_.empty() && entries_.front().refusal) {
    on_settled_(entries_.front().line, *std::move(entries_.front().refusal));
    entries_.pop_front();
    if (next_ > 0) --next_;
  }
}

}  // namespace winnow::app
