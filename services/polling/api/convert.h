#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/polling/jobs/job_records.h"
#include "services/polling/jobs/machine.h"
#include "winnow/polling/v1/polling.pb.h"
#include "winnow/polling/v1/polling_service.pb.h"

// The only place that maps messages to the domain and back.
namespace winnow::polling {

inline constexpr size_t kMaxPayload = size_t{64} << 10;
inline constexpr size_t kMaxNote = 1000;  // characters

// Each adds what is wrong to the violations.
JobKey ToKey(const std::string& kind, const std::string& id, Violations& violations);
void CheckKind(const std::string& kind, Violations& violations);
void CheckToken(int64_t token, Violations& violations);
void CheckRequestId(const std::string& request_id, Violations& violations);
void CheckNote(const std::string& note, const std::string& field, Violations& violations);
void CheckOwner(const std::string& owner, Violations& violations);
// 0 when it is not set.
Micros ToDelay(bool has, const google::protobuf::Duration& delay, const std::string& field,
               Micros most, Violations& violations);
NewJob ToNewJob(const v1::NewJob& job, const std::string& field, Violations& violations);
JobToImport ToJobToImport(const v1::InFlightJob& job, const std::string& field,
                          Violations& violations);

std::string ToActor(const std::string& actor, const std::string& caller, Violations& violations);
// The version that an etag names; none for an empty one.
std::optional<int64_t> ToBase(const std::string& etag, Violations& violations);
// The fields of the mask, or all, taken from `policy`. What results is not validated.
PolicyChange ToChange(const v1::Policy& policy, const google::protobuf::FieldMask& mask,
                      Violations& violations);

// Those of ended jobs that the request names, or the usual ones.
std::vector<Phase> ToEndedPhases(const v1::PurgeJobsRequest& request, Violations& violations);
StatusOr<WatchQuery> FromProto(const v1::WatchJobsRequest& request);
// Of a query whose place is known.
std::string ResumeToken(const WatchQuery& query);
// The answer to a token, or the end of a watch, of a history that the database no longer has.
Status HistoryGone();

v1::Policy ToProto(const PolicyVersion& version);
v1::WouldSweep ToProto(const WouldSweep& sweep);
v1::KindStats ToProto(const KindStats& stats);
v1::Job ToProto(const Job& job);
v1::JobEvent ToProto(const NumberedEvent& event);

}  // namespace winnow::polling
