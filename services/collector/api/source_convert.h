#pragma once

#include <google/protobuf/field_mask.pb.h>

#include <string>

#include "services/collector/quota/credential.h"
#include "services/collector/sources/source.h"
#include "winnow/collector/v1/collector_service.pb.h"
#include "winnow/collector/v1/source.pb.h"

// Sources, runs and quotas between the API's messages and the domain.
namespace winnow::collector {

// What a caller may set. Violations under "source" for what the domain type cannot hold.
Source FromProto(const v1::Source& source, Violations& violations);
v1::Source ToProto(const Source& source);
v1::Run ToProto(const Run& run);
v1::Quota ToProto(const Credential& credential, const QuotaState& state, Time now);

std::string EtagOf(const Source& source);

// Takes the fields of the mask from `from`; a violation for each that does not exist or may not
// change.
void ApplyMask(const google::protobuf::FieldMask& mask, const Source& from, Source& into,
               Violations& violations);

// The key to go on from of a listing by a text key, and its token.
struct KeyPage {
  int page_size = 0;
  std::string after;  // empty: from the start
};
StatusOr<KeyPage> ReadKeyPage(uint8_t kind, const std::string& filter, int page_size,
                              const std::string& page_token);
std::string ToKeyToken(uint8_t kind, const std::string& filter, const std::string& key);
// The answer to a watch whose place is of another epoch.
Status HistoryGone();
// A watch's place among the runs.
std::string ToWatchToken(const std::string& source_id, const RunsHead& reached);
StatusOr<RunsHead> ReadWatchToken(const std::string& source_id, const std::string& token);
inline constexpr uint8_t kSourcesToken = 2;
inline constexpr uint8_t kRunsToken = 3;
inline constexpr uint8_t kWatchToken = 4;

}  // namespace winnow::collector
