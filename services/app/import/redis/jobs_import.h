#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "services/app/client/client.h"
#include "services/app/client/interrupt.h"
#include "services/app/import/redis/redis_jobs.h"
#include "services/app/import/refusal.h"
#include "winnow/polling/v1/polling_service.grpc.pb.h"

namespace winnow::app {

struct JobsImportSettings {
  std::string kind = "stt";
  std::string prefix;  // of the keys; empty: the kind's view_prefix
  bool dry_run = false;
};

// What became of the jobs that were read:
//   read = imported + already_present + refused.
struct JobsImportTally {
  int64_t read = 0;
  int64_t imported = 0;  // in a dry run: would be
  int64_t already_present = 0;
  int64_t in_another_state = 0;  // of those already present
  std::map<std::string, int64_t> refused_by_reason;

  int64_t refused() const {
    int64_t sum = 0;
    for (const auto& [reason, count] : refused_by_reason) sum += count;
    return sum;
  }
};

// Takes the jobs of a Redis in the published layout into a running server. Reads only; jobs that
// the server has are left as they are, so that an import may be repeated.
class JobsImport {
 public:
  // Progress and the first refusals are written to `notes`, a line each.
  JobsImport(JobsImportSettings settings, redis::Client& redis, const Remote& remote,
             const Interrupt& interrupt, std::ostream& notes);

  // Errors: CANCELLED when it was interrupted; why Redis or the server could not go on. What was
  // done stands in tally() in any case.
  Status Run();

  const JobsImportTally& tally() const { return tally_; }

 private:
  struct Source {
    std::string key;
    std::string state;
  };
  StatusOr<std::vector<Source>> FindSources();
  Status RefuseOtherKeys(const std::string& prefix, const std::set<std::string>& known);
  Status ImportKey(const Source& source);
  Status ImportSome(const Source& source, std::vector<RedisJob> jobs);
  Status Send(const polling::v1::ImportJobsRequest& request);
  StatusOr<polling::v1::ImportJobsResponse> SendUntilAnswered(
      const polling::v1::ImportJobsRequest& request);
  void Count(const polling::v1::InFlightJob& job, const polling::v1::ImportJobResult& result);
  void Refuse(const std::string& what, const Refusal& refusal, int64_t jobs = 1);
  void ShowProgress();

  const JobsImportSettings settings_;
  redis::Client& redis_;
  const Client<polling::v1::PollingRegistryService> server_;
  const Interrupt& interrupt_;
  std::ostream& notes_;
  JobsImportTally tally_;
  int64_t total_ = 0;  // jobs that Redis had at the beginning
  int shown_ = 0;      // refusals
  std::chrono::steady_clock::time_point next_progress_;
};

}  // namespace winnow::app
