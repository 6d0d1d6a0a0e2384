#include "services/app/import/redis/jobs_import.h"

#include <poll.h>

#include <algorithm>

#include "services/app/client/terminal.h"
#include "services/app/import/redis/redis_source.h"
#include "services/platform/base/text.h"
#include "services/platform/grpc/errors/rpc_status.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::app {
namespace {

using polling::v1::ImportJobResult;
using polling::v1::ImportJobsRequest;
using polling::v1::ImportJobsResponse;
using polling::v1::InFlightJob;
using Stub = polling::v1::PollingRegistryService::Stub;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr size_t kMaxBatch = 500;
constexpr size_t kMaxOtherKeys = 100;  // that are looked at one by one
constexpr int kMaxShown = 10;          // refusals that are shown; all are counted
constexpr seconds kProgressInterval(2);
constexpr seconds kRetryLimit(30);  // while the server is away
constexpr int kRetryMilliseconds = 500;

Status Interrupted() { return Status(StatusCode::kCancelled, "interrupted"); }

}  // namespace

JobsImport::JobsImport(JobsImportSettings settings, redis::Client& redis, const Remote& remote,
                       const Interrupt& interrupt, std::ostream& notes)
    : settings_(std::move(settings)),
      redis_(redis),
      server_(remote),
      interrupt_(interrupt),
      notes_(notes),
      next_progress_(steady_clock::now() + kProgressInterval) {}

Status JobsImport::Run() {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<Source> sources, FindSources());
  for (const Source& source : sources) WINNOW_RETURN_IF_ERROR(ImportKey(source));
  return OkStatus();
}

// The keys of the kind's states. Later states first: of a job that is in two sets, since the
// published system moves it by several commands, the state that it reached counts.
StatusOr<std::vector<JobsImport::Source>> JobsImport::FindSources() {
  polling::v1::GetPolicyRequest request;
  request.set_kind(settings_.kind);
  WINNOW_ASSIGN_OR_RETURN(const auto response, server_.Call(&Stub::GetPolicy, request));
  const polling::v1::Policy& policy = response.policy();
  const std::string prefix = settings_.prefix.empty() ? policy.view_prefix() : settings_.prefix;
  if (prefix.empty()) {
    return InvalidField("--prefix", "is required: kind " + settings_.kind + " has no view_prefix");
  }
  std::vector<Source> sources;
  std::set<std::string> known;
  for (auto state = policy.states().rbegin(); state != policy.states().rend(); ++state) {
    Source source{prefix + *state, *state};
    known.insert(source.key);
    WINNOW_ASSIGN_OR_RETURN(const std::string type, RedisTypeOf(redis_, source.key));
    if (type == "none") continue;
    if (type != "zset") {
      return FailedPrecondition(source.key + " is a " + type +
                                ", not a sorted set with the times of its jobs: convert it first");
    }
    WINNOW_ASSIGN_OR_RETURN(const int64_t count, CountRedisJobs(redis_, source.key));
    total_ += count;
    sources.push_back(std::move(source));
  }
  WINNOW_RETURN_IF_ERROR(RefuseOtherKeys(prefix, known));
  return sources;
}

Status JobsImport::RefuseOtherKeys(const std::string& prefix, const std::set<std::string>& known) {
  std::set<std::string> others;
  WINNOW_RETURN_IF_ERROR(ForEachRedisKey(redis_, prefix, [&](const std::string& key) {
    if (!known.contains(key) && others.size() < kMaxOtherKeys) others.insert(key);
  }));
  for (const std::string& key : others) {
    WINNOW_ASSIGN_OR_RETURN(const std::string type, RedisTypeOf(redis_, key));
    if (type != "zset") continue;  // no jobs
    WINNOW_ASSIGN_OR_RETURN(const int64_t count, CountRedisJobs(redis_, key));
    tally_.read += count;
    Refuse(key,
           {"state", "kind " + settings_.kind +
                         " does not have this state: add it to the policy of the kind and run the "
                         "import again"},
           count);
  }
  return OkStatus();
}

Status JobsImport::ImportKey(const Source& source) {
  return ForEachRedisJob(redis_, source.key, [&](std::vector<RedisJob> jobs) {
    return ImportSome(source, std::move(jobs));
  });
}

Status JobsImport::ImportSome(const Source& source, std::vector<RedisJob> jobs) {
  std::sort(jobs.begin(), jobs.end());
  const auto same_id = [](const RedisJob& a, const RedisJob& b) { return a.first == b.first; };
  jobs.erase(std::unique(jobs.begin(), jobs.end(), same_id), jobs.end());
  ImportJobsRequest request;
  request.set_kind(settings_.kind);
  request.set_dry_run(settings_.dry_run);
  request.set_note("from " + source.key);
  request.set_actor("winnow jobs import-redis");
  for (auto& [id, score] : jobs) {
    ++tally_.read;
    const std::optional<Time> time = TimeOfScore(score);
    if (!IsValidUtf8(id)) {
      Refuse(source.key, {"id", "an id is not valid UTF-8"});
    } else if (!time) {
      Refuse(id, {"score", "score " + score + " is not a time in milliseconds since 1970"});
    } else {
      InFlightJob& job = *request.add_jobs();
      job.set_id(std::move(id));
      job.set_state(source.state);
      *job.mutable_state_time() = ToTimestamp(*time);
    }
    if (request.jobs_size() == static_cast<int>(kMaxBatch)) {
      WINNOW_RETURN_IF_ERROR(Send(request));
      request.clear_jobs();
    }
  }
  return request.jobs().empty() ? OkStatus() : Send(request);
}

Status JobsImport::Send(const ImportJobsRequest& request) {
  if (interrupt_.requested()) {
    tally_.read -= request.jobs_size();
    return Interrupted();
  }
  const StatusOr<ImportJobsResponse> response = SendUntilAnswered(request);
  const bool answered = response.ok() && response->results_size() == request.jobs_size();
  if (!answered) {
    tally_.read -= request.jobs_size();
    return response.ok() ? Internal("the answer has another number of jobs") : response.status();
  }
  for (int i = 0; i < request.jobs_size(); ++i) Count(request.jobs(i), response->results(i));
  ShowProgress();
  return OkStatus();
}

// Sent again, a job that an unanswered call imported counts as already present.
StatusOr<ImportJobsResponse> JobsImport::SendUntilAnswered(const ImportJobsRequest& request) {
  const auto until = steady_clock::now() + kRetryLimit;
  for (;;) {
    auto response = server_.Call(&Stub::ImportJobs, request);
    if (response.ok()) return response;
    if (interrupt_.requested()) return Interrupted();
    if (!IsTransient(response.status()) || steady_clock::now() >= until) return response;
    pollfd signal{interrupt_.fd(), POLLIN, 0};
    ::poll(&signal, 1, kRetryMilliseconds);
  }
}

void JobsImport::Count(const InFlightJob& job, const ImportJobResult& result) {
  if (result.has_error()) {
    Refuse(job.id(), ToRefusal(rpc::FromRpcStatus(result.error())));
  } else if (result.created()) {
    ++tally_.imported;
  } else {
    ++tally_.already_present;
    if (result.state() != job.state()) ++tally_.in_another_state;
  }
}

void JobsImport::Refuse(const std::string& what, const Refusal& refusal, int64_t jobs) {
  tally_.refused_by_reason[refusal.reason] += jobs;
  if (shown_ == kMaxShown) return;
  notes_ << Printable(what) + ": " + Printable(refusal.detail) << '\n';
  if (++shown_ == kMaxShown) notes_ << "further refusals are counted, not shown" << '\n';
}

void JobsImport::ShowProgress() {
  const auto now = steady_clock::now();
  if (now < next_progress_) return;
  next_progress_ = now + kProgressInterval;
  notes_ << WithCommas(tally_.read) + " of " + WithCommas(std::max(total_, tally_.read)) + " jobs"
         << '\n';
}

}  // namespace winnow::app
