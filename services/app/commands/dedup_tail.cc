#include "services/app/commands/dedup_tail.h"

#include <poll.h>

#include <iostream>

#include "services/app/client/canceller.h"
#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/commands/dedup_print.h"
#include "winnow/dedup/v1/dedup_service.grpc.pb.h"

namespace winnow::app {
namespace {

using dedup::v1::DedupService;
using dedup::v1::WatchDecisionsRequest;
using dedup::v1::WatchDecisionsResponse;

constexpr int kWaitBeforeTryMs = 500;
constexpr int kMaxTries = 60;  // in a row without a message

class Tail {
 public:
  Tail(const TailOptions& options, const Remote& remote)
      : options_(options), remote_(remote), stub_(DedupService::NewStub(remote.channel())) {
    request_.set_namespace_(options.item_namespace);
    request_.set_resume_token(options.resume_token);
    if (options.only_duplicates) request_.set_verdict(dedup::v1::VERDICT_DUPLICATE);
  }

  // Until the stream ends or all that was asked for is printed.
  Status Follow(const Interrupt& interrupt) {
    grpc::ClientContext context;
    remote_.PrepareStream(context);
    const auto stream = stub_->WatchDecisions(&context, request_);
    const Canceller canceller(interrupt, context);
    for (WatchDecisionsResponse response; !is_finished_ && stream->Read(&response);) {
      tries_ = 0;
      request_.set_resume_token(response.resume_token());
      Print(response);
    }
    if (is_finished_) context.TryCancel();
    return ToStatus(stream->Finish());
  }

  bool is_finished() const { return is_finished_; }
  int CountTry() { return ++tries_; }
  const std::string& resume_token() const { return request_.resume_token(); }

 private:
  void Print(const WatchDecisionsResponse& response) {
    if (response.has_gap())
      std::cerr << "decisions are missing: " << response.gap().reason() << '\n';
    for (const auto& decision : response.decisions()) {
      const bool is_printed =
          options_.json ? PrintJson(decision) == kOk : PrintDecisionLine(decision);
      is_finished_ = !is_printed || ++shown_ == options_.count;
      if (is_finished_) return;
    }
  }

  const TailOptions& options_;
  const Remote& remote_;
  const std::unique_ptr<DedupService::Stub> stub_;
  WatchDecisionsRequest request_;
  int shown_ = 0;
  int tries_ = 0;
  bool is_finished_ = false;
};

}  // namespace

int RunTail(const TailOptions& options, const Interrupt& interrupt) {
  auto remote = Remote::Connect(options.remote);
  if (!remote.ok()) return Fail(remote.status());
  Tail tail(options, *remote);
  while (true) {
    const Status status = tail.Follow(interrupt);
    if (tail.is_finished()) return kOk;
    if (interrupt.requested()) {
      std::cerr << "go on with --resume-token " << tail.resume_token() << '\n';
      return kInterrupted;
    }
    if (!IsTransient(status) || tail.CountTry() > kMaxTries) return Fail(status);
    pollfd signal{interrupt.fd(), POLLIN, 0};
    ::poll(&signal, 1, kWaitBeforeTryMs);
  }
}

}  // namespace winnow::app
