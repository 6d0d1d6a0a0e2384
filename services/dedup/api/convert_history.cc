#include <cmath>

#include "services/dedup/api/convert.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/page_token.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::dedup {
namespace {

constexpr uint8_t kDecisionsToken = 20;
constexpr uint8_t kReviewsToken = 21;
constexpr uint8_t kWatchToken = 22;
constexpr uint8_t kTopToken = 23;
constexpr int kDefaultTop = 10;
constexpr int kMaxTop = 100;
constexpr int kDefaultReviews = 20;
constexpr int kMaxReviews = 200;

static_assert(static_cast<int>(ReviewKind::kDuplicate) == v1::REVIEW_KIND_DUPLICATE);
static_assert(static_cast<int>(ReviewKind::kUnique) == v1::REVIEW_KIND_UNIQUE);

std::string ReadNamespace(const std::string& ns, Violations& violations) {
  std::string read = ns.empty() ? std::string(kDefaultNamespace) : ns;
  CheckNamespace(read, "namespace", violations);
  return read;
}

int ReadSize(int requested, int usual, int most, const std::string& field, Violations& violations) {
  const StatusOr<int> size = PageSize(requested, usual, most);
  if (size.ok()) return *size;
  violations.Add(field, "must not be negative; 0 means " + std::to_string(usual));
  return usual;
}

template <class Request>
TimeRange ReadRange(const Request& request, Violations& violations) {
  TimeRange range;
  const auto read = [&](const google::protobuf::Timestamp& from, const char* field) {
    const StatusOr<Time> time = FromTimestamp(from);
    if (time.ok()) return std::optional<Time>(*time);
    for (const Violation& violation : ViolationsOf(time.status())) {
      violations.Add(field, violation.description);
    }
    return std::optional<Time>();
  };
  if (request.has_from_time()) range.from = read(request.from_time(), "from_time");
  if (request.has_until_time()) range.until = read(request.until_time(), "until_time");
  if (range.from && range.until && *range.from > *range.until) {
    violations.Add("from_time", "must not be after until_time");
  }
  return range;
}

// Counts go over a range that is not too long.
TimeRange Close(TimeRange range, Time now, Violations& violations) {
  if (!violations.empty()) return range;
  const Time until = range.until.value_or(now);
  if (!range.from) range.from = until - kUsualRange;
  if (until - *range.from > kLongestRange) {
    violations.Add("from_time", "must be at most 31 days before until_time");
  }
  return range;
}

std::optional<Verdict> ReadVerdict(v1::Verdict verdict, Violations& violations) {
  if (verdict == v1::VERDICT_UNSPECIFIED) return std::nullopt;
  if (!v1::Verdict_IsValid(verdict)) violations.Add("verdict", "is not a Verdict");
  return static_cast<Verdict>(verdict);
}

std::string TimeKey(const std::optional<Time>& time) {
  return time ? std::to_string(time->time_since_epoch().count()) : "-";
}

uint64_t FilterHash(const DecisionQuery& query) {
  const int verdict = query.verdict ? static_cast<int>(*query.verdict) : 0;
  return Hash64(query.ns + '\0' + std::to_string(verdict) + '\0' + query.channel + '\0' +
                TimeKey(query.range.from) + '\0' + TimeKey(query.range.until));
}

uint64_t FilterHash(const ReviewQuery& query) {
  return Hash64(query.ns + '\0' + std::to_string(query.kind ? static_cast<int>(*query.kind) : 0));
}

template <class Query>
StatusOr<int64_t> ReadBefore(const std::string& token, uint8_t kind, const Query& query) {
  int64_t before = 0;
  WINNOW_RETURN_IF_ERROR(ReadPageToken(token, kind, FilterHash(query), before));
  return before;
}

v1::ErrorEstimate ToProto(const ErrorCount& count) {
  const Rate rate = EstimateOf(count);
  v1::ErrorEstimate out;
  out.set_decision_count(count.decisions);
  out.set_reviewed_count(count.reviewed);
  out.set_wrong_count(count.wrong);
  out.set_rate(rate.value);
  out.set_rate_low(rate.low);
  out.set_rate_high(rate.high);
  return out;
}

}  // namespace

StatusOr<DecisionQuery> FromProto(const v1::ListDecisionsRequest& request) {
  Violations violations;
  DecisionQuery query;
  query.ns = ReadNamespace(request.namespace_(), violations);
  query.verdict = ReadVerdict(request.verdict(), violations);
  query.channel = request.channel();
  CheckText(query.channel, kMaxChannel, "channel", violations);
  query.range = ReadRange(request, violations);
  query.page_size =
      ReadSize(request.page_size(), kDefaultPageSize, kMaxPageSize, "page_size", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(query.before, ReadBefore(request.page_token(), kDecisionsToken, query));
  return query;
}

StatusOr<TopQuery> FromProto(const v1::ListTopCitedRequest& request, Time now) {
  Violations violations;
  TopQuery query;
  query.ns = ReadNamespace(request.namespace_(), violations);
  const TimeRange asked = ReadRange(request, violations);
  // A later page has the range of the first.
  if (request.page_token().empty()) query.range = Close(asked, now, violations);
  query.page_size = ReadSize(request.page_size(), kDefaultTop, kMaxTop, "page_size", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  query.filter = query.ns + '\0' + TimeKey(asked.from) + '\0' + TimeKey(asked.until);
  if (!query.range.until) query.range.until = now;
  if (request.page_token().empty()) return query;
  int64_t from = 0, until = 0;
  WINNOW_RETURN_IF_ERROR(ReadPageToken(request.page_token(), kTopToken, Hash64(query.filter), from,
                                       until, query.after_count, query.after_id));
  query.range = {Time(Micros(from)), Time(Micros(until))};
  return query;
}

StatusOr<RangeQuery> FromProto(const v1::GetStatsRequest& request, Time now) {
  Violations violations;
  RangeQuery query;
  query.ns = ReadNamespace(request.namespace_(), violations);
  query.range = Close(ReadRange(request, violations), now, violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  return query;
}

StatusOr<ReviewQuery> FromProto(const v1::ListReviewQueueRequest& request) {
  Violations violations;
  ReviewQuery query;
  query.ns = ReadNamespace(request.namespace_(), violations);
  if (request.kind() != v1::REVIEW_KIND_UNSPECIFIED) {
    if (!v1::ReviewKind_IsValid(request.kind())) {
      violations.Add("kind", "is not a ReviewKind");
    }
    query.kind = static_cast<ReviewKind>(request.kind());
  }
  query.page_size =
      ReadSize(request.page_size(), kDefaultReviews, kMaxReviews, "page_size", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(query.before, ReadBefore(request.page_token(), kReviewsToken, query));
  return query;
}

StatusOr<OverrideRequest> FromProto(const v1::OverrideDecisionRequest& request) {
  Violations violations;
  OverrideRequest out;
  out.ns = ReadNamespace(request.namespace_(), violations);
  out.document_id = request.document_id();
  CheckId(out.document_id, "document_id", violations);
  const auto verdict = ReadVerdict(request.verdict(), violations);
  if (!verdict) violations.Add("verdict", "is required: UNIQUE or DUPLICATE");
  out.verdict = verdict.value_or(Verdict::kUnique);
  out.original_id = request.original_id();
  if (verdict == Verdict::kDuplicate) {
    CheckId(out.original_id, "original_id", violations);
    if (out.original_id == out.document_id) {
      violations.Add("original_id", "must be another document than document_id");
    }
  } else if (verdict && !out.original_id.empty()) {
    violations.Add("original_id", "must be empty with UNIQUE");
  }
  out.note = request.note();
  if (out.note.empty()) violations.Add("note", "is required: state the reason");
  CheckText(out.note, kMaxNote, "note", violations);
  out.actor = request.actor();
  CheckText(out.actor, kMaxActor, "actor", violations);
  out.request_id = request.request_id();
  CheckText(out.request_id, kMaxRequestId, "request_id", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  return out;
}

v1::ListDecisionsResponse ToProto(const DecisionQuery& query, const DecisionPage& page) {
  v1::ListDecisionsResponse out;
  for (const Decision& decision : page.decisions) *out.add_decisions() = ToProto(decision);
  if (page.next) {
    out.set_next_page_token(MakePageToken(kDecisionsToken, FilterHash(query), *page.next));
  }
  return out;
}

v1::ListTopCitedResponse ToProto(const TopQuery& query, const TopPage& page) {
  v1::ListTopCitedResponse out;
  if (page.has_more) {
    const CitedOriginal& last = page.originals.back();
    out.set_next_page_token(MakePageToken(
        kTopToken, Hash64(query.filter), query.range.from->time_since_epoch().count(),
        query.range.until->time_since_epoch().count(), last.duplicate_count, last.original_id));
  }
  for (const CitedOriginal& original : page.originals) {
    v1::CitedOriginal& to = *out.add_originals();
    to.set_original_id(original.original_id);
    to.set_channel(original.channel);
    to.set_url(original.url);
    *to.mutable_arrival_time() = ToTimestamp(original.arrival_time);
    to.set_duplicate_count(original.duplicate_count);
    to.set_channel_count(original.channel_count);
    *to.mutable_last_duplicate_time() = ToTimestamp(original.last_duplicate_time);
  }
  return out;
}

v1::ListReviewQueueResponse ToProto(const ReviewQuery& query, const ReviewPage& page) {
  v1::ListReviewQueueResponse out;
  for (const ReviewItem& item : page.items) {
    v1::ReviewItem& to = *out.add_items();
    to.set_kind(static_cast<v1::ReviewKind>(item.kind));
    *to.mutable_decision() = ToProto(item.decision);
    to.set_title(item.title);
    to.set_candidate_title(item.candidate_title);
  }
  if (page.next) {
    out.set_next_page_token(MakePageToken(kReviewsToken, FilterHash(query), *page.next));
  }
  return out;
}

v1::GetStatsResponse ToProto(const Stats& stats) {
  v1::GetStatsResponse out;
  int64_t documents = 0;
  int64_t duplicates = 0;
  for (const HourCount& hour : stats.hours) {
    v1::HourStats& to = *out.add_hours();
    *to.mutable_start_time() = ToTimestamp(hour.start);
    to.set_document_count(hour.documents);
    to.set_duplicate_count(hour.duplicates);
    documents += hour.documents;
    duplicates += hour.duplicates;
  }
  out.set_document_count(documents);
  out.set_duplicate_count(duplicates);
  for (const ChannelDecisions& channel : stats.channels) {
    v1::ChannelStats& to = *out.add_channels();
    to.set_channel(channel.channel);
    to.set_document_count(channel.documents);
    to.set_duplicate_count(channel.duplicates);
    to.set_first_count(channel.firsts);
  }
  for (const auto& [stage, count] : stats.stages) {
    v1::StageStats& to = *out.add_stages();
    to.set_stage(static_cast<v1::Stage>(stage));
    to.set_document_count(count);
  }
  for (int i = 0; i < kSimilarityBuckets; ++i) {
    v1::SimilarityBucket& to = *out.add_similarities();
    to.set_similarity_from(static_cast<double>(i) / kSimilarityBuckets);
    to.set_unique_count(stats.similarities[i].unique);
    to.set_duplicate_count(stats.similarities[i].duplicates);
  }
  *out.mutable_false_positives() = ToProto(stats.false_positives);
  *out.mutable_false_negatives() = ToProto(stats.false_negatives);
  return out;
}

google::protobuf::Duration ToMeanTime(double seconds) {
  google::protobuf::Duration out;
  const double whole = std::floor(seconds);
  out.set_seconds(static_cast<int64_t>(whole));
  out.set_nanos(static_cast<int32_t>((seconds - whole) * 1e9));
  return out;
}

StatusOr<WatchQuery> FromProto(const v1::WatchDecisionsRequest& request) {
  Violations violations;
  WatchQuery query;
  query.ns = ReadNamespace(request.namespace_(), violations);
  query.verdict = ReadVerdict(request.verdict(), violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  if (request.resume_token().empty()) return query;
  WINNOW_RETURN_IF_ERROR(ReadPageToken(request.resume_token(), kWatchToken, Hash64(query.ns),
                                       query.after.emplace(), query.epoch));
  return query;
}

std::string ResumeToken(const std::string& ns, int64_t after, const std::string& epoch) {
  return MakePageToken(kWatchToken, Hash64(ns), after, epoch);
}

}  // namespace winnow::dedup
