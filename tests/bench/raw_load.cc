#include "tests/bench/raw_load.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace winnow::bench {
namespace {

using std::chrono::steady_clock;

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string ToText(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!buffer.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

}  // namespace

class RawLoad::Calls {
 public:
  Calls(const RawLoad& load, int calls, int in_flight, std::chrono::milliseconds deadline)
      : method_(load.method_),
        request_(ToBuffer(load.request_)),
        deadline_(deadline),
        left_(calls),
        running_(in_flight),
        slots_(static_cast<size_t>(in_flight)) {
    for (const auto& channel : load.channels_) stubs_.emplace_back(channel);
  }

  LoadResult Run() {
    for (size_t i = 0; i < slots_.size(); ++i) Next(i);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return running_ == 0; });
    return std::move(result_);
  }
  std::string last() const { return ToText(slots_[0].response); }

 private:
  struct Slot {
    std::unique_ptr<grpc::ClientContext> context;
    grpc::ByteBuffer response;
    steady_clock::time_point began;
  };

  void Next(size_t at) {
    if (left_.fetch_sub(1) <= 0) {
      const std::lock_guard lock(mutex_);
      if (--running_ == 0) done_.notify_all();
      return;
    }
    Slot& slot = slots_[at];
    slot.context = std::make_unique<grpc::ClientContext>();
    slot.context->set_wait_for_ready(true);
    slot.context->set_deadline(std::chrono::system_clock::now() + deadline_);
    slot.began = steady_clock::now();
    stubs_[at % stubs_.size()].UnaryCall(slot.context.get(), method_, {}, &request_, &slot.response,
                                         [this, at](const grpc::Status& status) {
                                           Note(slots_[at], status);
                                           Next(at);
                                         });
  }

  void Note(const Slot& slot, const grpc::Status& status) {
    const double millis =
        std::chrono::duration<double, std::milli>(steady_clock::now() - slot.began).count();
    const std::lock_guard lock(mutex_);
    if (status.ok()) {
      ++result_.answered;
      result_.millis.push_back(millis);
    } else if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
      ++result_.refused;
    } else {
      if (result_.failed++ == 0) result_.error = status.error_message();
    }
  }

  const std::string method_;
  const grpc::ByteBuffer request_;
  const std::chrono::milliseconds deadline_;
  std::atomic<int> left_;
  std::vector<grpc::GenericStub> stubs_;
  std::mutex mutex_;
  std::condition_variable done_;
  int running_;
  LoadResult result_;
  std::vector<Slot> slots_;
};

RawLoad::RawLoad(std::vector<std::shared_ptr<grpc::Channel>> channels, std::string method,
                 const std::string& request)
    : channels_(std::move(channels)), method_(std::move(method)), request_(request) {}
RawLoad::~RawLoad() = default;

LoadResult RawLoad::Run(int calls, int in_flight, std::chrono::milliseconds deadline) {
  return Calls(*this, calls, in_flight, deadline).Run();
}

std::string RawLoad::Ask() {
  Calls calls(*this, 1, 1, std::chrono::seconds(60));
  const LoadResult result = calls.Run();
  if (result.answered == 1) return calls.last();
  std::fprintf(stderr, "%s: %s\n", method_.c_str(), result.error.c_str());
  std::exit(1);
}

std::vector<std::shared_ptr<grpc::Channel>> ConnectTo(const std::string& address, int count) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < count; ++i) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(-1);
    channels.push_back(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }
  return channels;
}

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto at = static_cast<size_t>(share * static_cast<double>(values.size()));
  return values[std::min(at, values.size() - 1)];
}

}  // namespace winnow::bench
