#pragma once

#include <string>

#include "services/app/client/client.h"
#include "services/app/commands/verb.h"
#include "winnow/polling/v1/polling_service.grpc.pb.h"

namespace winnow::app {

// What the verbs of `winnow jobs` share.
struct JobsOptions : VerbOptions {
  std::string kind = "stt";
  std::string id;
  std::string state;
  std::string phase;
  std::string owner;
  std::string reason;
  std::string note;
  std::string token;
  double min_age_seconds = -1;
  double deadline_seconds = 0;
  double no_progress_seconds = 0;
  double lease_seconds = 0;
  double wait_seconds = 0;
  int count = 0;
  bool dry_run = false;
};

using Registry = Client<polling::v1::PollingRegistryService>;
using RegistryStub = Registry::Stub;

google::protobuf::Duration ToSeconds(double seconds);
// INVALID_ARGUMENT; an empty name is unspecified.
StatusOr<polling::v1::JobPhase> ToPhase(const std::string& name);
StatusOr<polling::v1::StaleReason> ToReason(const std::string& name);
int PrintJob(const JobsOptions& options, const polling::v1::Job& job);

// A verb on jobs of a kind.
Verb<JobsOptions> AddJobsVerb(CLI::App& group, Command& chosen, const char* name, const char* help,
                              RunVerb<JobsOptions> run);
void AddJobsImportRedis(CLI::App& jobs, Command& chosen);
// Verbs on kinds and on many jobs at once.
void AddJobsKindCommands(CLI::App& group, Command& chosen);

}  // namespace winnow::app
