#pragma once

#include <grpcpp/client_context.h>

#include <cstdint>
#include <memory>
#include <string>

#include "services/app/client/remote.h"
#include "services/app/commands/command.h"
#include "winnow/polling/v1/polling_service.grpc.pb.h"

namespace winnow::app {

// What the verbs of `winnow jobs` share.
struct JobsOptions {
  RemoteOptions remote;
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
  bool json = false;
};

using JobsStub = polling::v1::PollingRegistryService::Stub;

template <class Request, class Response>
StatusOr<Response> Call(const Remote& remote, JobsStub& stub,
                        grpc::Status (JobsStub::*method)(grpc::ClientContext*, const Request&,
                                                         Response*),
                        const Request& request) {
  Response response;
  grpc::ClientContext context;
  remote.PrepareCall(context);
  WINNOW_RETURN_IF_ERROR(ToStatus((stub.*method)(&context, request, &response)));
  return response;
}

// One call, and its answer printed: an ExitCode.
template <class Request, class Response, class Print>
int CallAndPrint(const JobsOptions& options,
                 grpc::Status (JobsStub::*method)(grpc::ClientContext*, const Request&, Response*),
                 const Request& request, Print print) {
  auto remote = Remote::Connect(options.remote);
  if (!remote.ok()) return Fail(remote.status());
  const auto stub = polling::v1::PollingRegistryService::NewStub(remote->channel());
  const auto response = Call(*remote, *stub, method, request);
  return response.ok() ? print(*response) : Fail(response.status());
}

google::protobuf::Duration ToSeconds(double seconds);
// INVALID_ARGUMENT; an empty name is unspecified.
StatusOr<polling::v1::JobPhase> ToPhase(const std::string& name);
StatusOr<polling::v1::StaleReason> ToReason(const std::string& name);
int PrintJob(const JobsOptions& options, const polling::v1::Job& job);

// A verb with its own options; `run` is called when it is chosen.
CLI::App* AddJobsVerb(CLI::App& group, Command& chosen, const char* name, const char* what,
                      const std::shared_ptr<JobsOptions>& options,
                      int (*run)(const JobsOptions&, const Interrupt&));
void AddJobsImportRedis(CLI::App& jobs, Command& chosen);
// Verbs on kinds and on many jobs at once.
void AddJobsKindCommands(CLI::App& group, Command& chosen);

}  // namespace winnow::app
