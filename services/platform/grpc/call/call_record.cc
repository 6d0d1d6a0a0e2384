#include "services/platform/grpc/call/call_record.h"

#include <algorithm>
#include <exception>

#include "services/platform/base/ascii.h"
#include "services/platform/base/uuid.h"
#include "services/platform/grpc/errors/error_exit.h"
#include "services/platform/grpc/errors/rpc_status.h"
#include "services/platform/process/log.h"

namespace winnow::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kMinTimeLeft{20};
constexpr size_t kMaxRequestIdLength = 128;

std::string_view Header(const grpc::CallbackServerContext& context, const char* name) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find(name);
  if (found == metadata.end()) return {};
  return {found->second.data(), found->second.size()};
}

// What may stand in logs and error texts as it came.
bool IsSaneRequestId(std::string_view id) {
  return !id.empty() && id.size() <= kMaxRequestIdLength &&
         std::all_of(id.begin(), id.end(), [](char c) {
           return IsAsciiAlnum(c) || c == '-' || c == '_' || c == '.' || c == ':' || c == '/';
         });
}

std::string RequestId(const grpc::CallbackServerContext& context, Time wall_time) {
  const std::string_view given = Header(context, "x-request-id");
  return IsSaneRequestId(given) ? std::string(given) : NewUuidV7(wall_time);
}

// The caller's deadline by our steady clock; the far future when it has none.
Deadline CallersDeadline(const grpc::CallbackServerContext& context, Deadline now, Time wall_time) {
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return Deadline::max();
  const auto left = deadline - wall_time;
  if (left > std::chrono::hours(24 * 365)) return Deadline::max();
  return now + std::chrono::duration_cast<steady_clock::duration>(left);
}

// What the log may say of an error. Violations may quote the request: of those only the fields.
std::string LoggableText(const Status& status) {
  const std::vector<Violation> violations = ViolationsOf(status);
  if (violations.empty()) return Message(status);
  constexpr size_t kShown = 10;
  std::string text = "invalid:";
  for (size_t i = 0; i < std::min(violations.size(), kShown); ++i) {
    text.append(" ").append(violations[i].field);
  }
  if (violations.size() > kShown) {
    text.append(" and ").append(std::to_string(violations.size() - kShown)).append(" more");
  }
  return text;
}

std::string CertificateSubject(const grpc::CallbackServerContext& context) {
  const auto auth = context.auth_context();
  if (auth == nullptr || !auth->IsPeerAuthenticated()) return "";
  const auto names = auth->FindPropertyValues("x509_subject");
  if (names.empty()) return "unnamed";
  return {names[0].data(), names[0].size()};
}

}  // namespace

CallRecord::CallRecord(Runtime& runtime, const Method& method, grpc::CallbackServerContext& context,
                       Lifetime lifetime)
    : runtime_(runtime),
      stats_(runtime.StatsOf(method)),
      lane_(method.lane),
      needs_auth_(method.needs_auth),
      context_(context),
      arrival_(steady_clock::now()),
      cancelled_(std::make_shared<std::atomic<bool>>(false)) {
  stats_.Begin();
  const Time wall_time = SystemClock().Now();
  call_.deadline = CallersDeadline(context, arrival_, wall_time);
  if (lifetime == Lifetime::kUnary) {
    call_.deadline = std::min(call_.deadline, arrival_ + runtime.options().default_deadline);
  }
  call_.request_id = RequestId(context, wall_time);
  call_.caller = "anonymous";
  call_.trace = ParseOrStartTrace(Header(context, "traceparent"));
  call_.cancelled = [flag = cancelled_] { return flag->load(std::memory_order_relaxed); };
}

CallRecord::~CallRecord() {
  if (!ended_) End(Cancelled("the call ended before it was answered"));
  // Not before its answer is on its way: a drain that sees the last one end may cut connections.
  if (from_outside_) runtime_.outside_calls().End();
}

Status CallRecord::Admit() {
  WINNOW_RETURN_IF_ERROR(Authenticate());
  if (call_.caller != "inprocess") {
    if (!runtime_.outside_calls().Begin()) return ShuttingDown();
    from_outside_ = true;
  }
  return CheckStart(arrival_);
}

Status CallRecord::Authenticate() {
  const Auth& auth = runtime_.auth();
  const std::string_view caller = auth.CallerOf(Header(context_, "authorization"));
  if (!caller.empty()) {
    call_.caller = caller;
  } else if (runtime_.options().client_certificates) {
    if (const std::string subject = CertificateSubject(context_); !subject.empty()) {
      call_.caller = "mtls:" + subject;
    }
  }
  if (caller.empty() && auth.token_needed() && needs_auth_) {
    return MakeError(StatusCode::kUnauthenticated, Reason::kUnauthenticated,
                     "no valid bearer token: send metadata \"authorization: Bearer <token>\" with "
                     "the token of the server's auth.bearer_token_file");
  }
  return OkStatus();
}

Status CallRecord::CheckStart() const { return CheckStart(steady_clock::now()); }

Status CallRecord::CheckStart(Deadline now) const {
  if (cancelled()) return Cancelled("the client cancelled before the call began");
  if (call_.deadline - now < kMinTimeLeft) {
    return DeadlineExceeded("under 20 ms were left when the call could begin; give it more time");
  }
  return OkStatus();
}

Status CallRecord::CatchAll(const std::function<Status()>& body) {
  try {
    return body();
  } catch (const std::exception& e) {
    return Internal(std::string("uncaught exception: ") + e.what());
  } catch (...) {
    return Internal("uncaught exception of an unknown type");
  }
}

CallContext CallRecord::BatchCall() const {
  CallContext call = call_;
  call.deadline =
      std::min(call.deadline, steady_clock::now() + runtime_.options().default_deadline);
  return call;
}

grpc::Status CallRecord::End(const Status& ended) {
  ended_ = true;
  const Status status = NameTokenField(ended, stats_.name());
  grpc::Status visible = ToGrpcStatus(status, call_.request_id);
  const auto took = steady_clock::now() - arrival_;
  auto code = static_cast<StatusCode>(visible.error_code());
  // gRPC reports a passed deadline as it reports any cancellation.
  if (code == StatusCode::kCancelled && steady_clock::now() >= call_.deadline) {
    code = StatusCode::kDeadlineExceeded;
  }
  stats_.End(code, took);
  Log(status, code, took);
  return visible;
}

void CallRecord::Log(const Status& status, StatusCode code,
                     std::chrono::steady_clock::duration took) const {
  log::Level level = log::Level::kInfo;
  if (code == StatusCode::kOk) level = log::Level::kDebug;
  if (code == StatusCode::kInternal) level = log::Level::kError;
  if (code == StatusCode::kUnavailable || code == StatusCode::kResourceExhausted) {
    level = log::Level::kWarn;
  }
  if (!log::Enabled(level)) return;
  log::Write(level, "rpc",
             {{"method", stats_.name()},
              {"code", CodeName(code)},
              {"ms", std::chrono::duration<double, std::milli>(took).count()},
              {"request_id", call_.request_id},
              {"trace_id", call_.trace.trace_id},
              {"caller", call_.caller},
              {"peer", context_.peer()},
              {"error", LoggableText(status)}});
}

}  // namespace winnow::rpc
