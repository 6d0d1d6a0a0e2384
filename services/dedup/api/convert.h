#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "services/dedup/history/citations.h"
#include "services/dedup/history/history.h"
#include "services/dedup/judge/compare.h"
#include "services/dedup/judge/replay.h"
#include "services/dedup/log/decision.h"
#include "services/dedup/policy/policy.h"
#include "services/dedup/text/document.h"
#include "winnow/dedup/v1/dedup.pb.h"
#include "winnow/dedup/v1/dedup_service.pb.h"

// The only place that maps the API's messages to the domain and back.
namespace winnow::dedup {

// Adds the violations of fields that the domain type cannot hold, under `path`.
Document FromProto(const v1::Document& document, std::string_view path, Violations& violations);

// The listing that a request asks for. Errors: INVALID_ARGUMENT with all violations, or the page
// token's.
StatusOr<DuplicateQuery> FromProto(const v1::ListDuplicatesRequest& request);

v1::Decision ToProto(const Decision& decision);
v1::ListDuplicatesResponse ToProto(const DuplicateQuery& query, const DuplicatePage& page);
v1::GetCitationsResponse ToProto(const Citations& citations);
v1::Policy ToProto(const std::string& ns, const PolicyVersion& version);

// The change that a policy and a mask ask for. Adds a violation for every path that is none.
PolicyChange FromProto(const v1::Policy& policy, const google::protobuf::FieldMask& mask,
                       Violations& violations);
struct PreviewQuery {
  std::string ns;
  PolicyChange change;
  int max_documents = 0;
  int max_changes = 0;
};
StatusOr<PreviewQuery> FromProto(const v1::PreviewPolicyRequest& request);
// What does not depend on who calls.
StatusOr<PolicyUpdate> FromProto(const v1::UpdatePolicyRequest& request);
v1::PreviewPolicyResponse ToProto(const Preview& preview);

// Listings and counts. `now` closes ranges that are open.
struct RangeQuery {
  std::string ns;
  TimeRange range;
};
StatusOr<DecisionQuery> FromProto(const v1::ListDecisionsRequest& request);
StatusOr<TopQuery> FromProto(const v1::ListTopCitedRequest& request, Time now);
StatusOr<RangeQuery> FromProto(const v1::GetStatsRequest& request, Time now);
StatusOr<ReviewQuery> FromProto(const v1::ListReviewQueueRequest& request);
// What does not depend on who calls.
StatusOr<OverrideRequest> FromProto(const v1::OverrideDecisionRequest& request);
v1::ListDecisionsResponse ToProto(const DecisionQuery& query, const DecisionPage& page);
v1::ListTopCitedResponse ToProto(const TopQuery& query, const TopPage& page);
v1::ListReviewQueueResponse ToProto(const ReviewQuery& query, const ReviewPage& page);
v1::GetStatsResponse ToProto(const Stats& stats);
google::protobuf::Duration ToMeanTime(double seconds);

// Where a watch goes on.
struct WatchQuery {
  std::string ns;
  std::optional<Verdict> verdict;
  std::optional<int64_t> after;  // seq; none: from now on
  std::string epoch;             // of the history that `after` belongs to
};
StatusOr<WatchQuery> FromProto(const v1::WatchDecisionsRequest& request);
std::string ResumeToken(const std::string& ns, int64_t after, const std::string& epoch);
v1::CompareDocumentsResponse ToProto(const Comparison& comparison);
v1::Embedder ToProto(const EmbedderCalibration& calibration);

}  // namespace winnow::dedup
