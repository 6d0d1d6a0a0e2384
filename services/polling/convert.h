#pragma once

#include <string>
#include <vector>

#include "services/polling/records.h"
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

v1::Job ToProto(const Job& job);
v1::JobEvent ToProto(const NumberedEvent& event);

}  // namespace winnow::polling
