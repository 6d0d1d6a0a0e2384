#include "services/dedup/api/convert.h"

#include "services/platform/base/hash.h"
#include "services/platform/base/page_token.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::dedup {
namespace {

constexpr uint8_t kDuplicatesToken = 2;

// The domain's numbers are the proto's.
template <class To, class From>
To SameNumber(From value) {
  return static_cast<To>(static_cast<int>(value));
}

static_assert(static_cast<int>(Verdict::kDuplicate) == v1::VERDICT_DUPLICATE);
static_assert(static_cast<int>(Stage::kUrl) == v1::STAGE_URL);
static_assert(static_cast<int>(Stage::kExact) == v1::STAGE_EXACT);
static_assert(static_cast<int>(Stage::kToken) == v1::STAGE_TOKEN);
static_assert(static_cast<int>(Stage::kLead) == v1::STAGE_LEAD);
static_assert(static_cast<int>(Stage::kEdit) == v1::STAGE_EDIT);
static_assert(static_cast<int>(Stage::kSemantic) == v1::STAGE_SEMANTIC);
static_assert(static_cast<int>(Guard::kTemplate) == v1::GUARD_TEMPLATE);
static_assert(static_cast<int>(Guard::kContradiction) == v1::GUARD_CONTRADICTION);
static_assert(static_cast<int>(Guard::kSameChannel) == v1::GUARD_SAME_CHANNEL);
static_assert(static_cast<int>(Guard::kShortTitle) == v1::GUARD_SHORT_TITLE);
static_assert(static_cast<int>(Guard::kChain) == v1::GUARD_CHAIN);
static_assert(static_cast<int>(Degradation::kStore) == v1::DEGRADATION_STORE);
static_assert(static_cast<int>(Degradation::kEmbedder) == v1::DEGRADATION_EMBEDDER);

std::optional<Time> ReadTime(const google::protobuf::Timestamp& timestamp, std::string field,
                             Violations& violations) {
  const StatusOr<Time> time = FromTimestamp(timestamp);
  if (time.ok()) return *time;
  for (const Violation& violation : ViolationsOf(time.status())) {
    violations.Add(field, violation.description);
  }
  return std::nullopt;
}

v1::Scores ToProto(const Scores& scores) {
  v1::Scores out;
  out.set_title_jaccard(scores.jaccard);
  out.set_title_cosine(scores.cosine);
  out.set_title_overlap(scores.overlap);
  if (scores.lead_jaccard) out.set_lead_jaccard(*scores.lead_jaccard);
  out.set_edit_similarity(scores.edit_similarity);
  if (scores.semantic) out.set_semantic(*scores.semantic);
  out.set_probability(scores.probability);
  if (scores.characters) out.set_character_jaccard(*scores.characters);
  return out;
}

v1::DecisionOverride ToProto(const Override& said) {
  v1::DecisionOverride out;
  out.set_verdict(SameNumber<v1::Verdict>(said.verdict));
  out.set_original_id(said.original_id);
  out.set_note(said.note);
  out.set_actor(said.actor);
  *out.mutable_create_time() = ToTimestamp(said.create_time);
  out.set_revision(said.revision);
  return out;
}

v1::Candidate ToProto(const Candidate& candidate) {
  v1::Candidate out;
  out.set_document_id(candidate.document_id);
  out.set_original_id(candidate.original_id);
  out.set_channel(candidate.channel);
  *out.mutable_scores() = ToProto(candidate.scores);
  out.set_stage(SameNumber<v1::Stage>(candidate.stage));
  for (const Guard guard : candidate.guards) out.add_guards(SameNumber<v1::Guard>(guard));
  return out;
}

uint64_t FilterHash(const DuplicateQuery& query) {
  return Hash64(query.ns + '\0' + query.original_id);
}

}  // namespace

Document FromProto(const v1::Document& document, std::string_view path, Violations& violations) {
  Document out;
  out.ns = document.namespace_();
  out.id = document.id();
  out.channel = document.channel();
  out.title = document.title();
  out.text = document.text();
  out.language = document.language();
  out.url = document.url();
  if (document.has_publish_time()) {
    out.publish_time =
        ReadTime(document.publish_time(), std::string(path) + ".publish_time", violations);
  }
  if (document.has_arrival_time()) {
    out.arrival_time =
        ReadTime(document.arrival_time(), std::string(path) + ".arrival_time", violations);
  }
  return out;
}

StatusOr<DuplicateQuery> FromProto(const v1::ListDuplicatesRequest& request) {
  Violations violations;
  DuplicateQuery query;
  query.ns = request.namespace_().empty() ? std::string(kDefaultNamespace) : request.namespace_();
  query.original_id = request.original_id();
  CheckNamespace(query.ns, "namespace", violations);
  CheckId(query.original_id, "original_id", violations);
  const StatusOr<int> size = PageSize(request.page_size(), kDefaultPageSize, kMaxPageSize);
  if (size.ok()) {
    query.page_size = *size;
  } else {
    for (const Violation& violation : ViolationsOf(size.status())) {
      violations.Add(violation.field, violation.description);
    }
  }
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_RETURN_IF_ERROR(
      ReadPageToken(request.page_token(), kDuplicatesToken, FilterHash(query), query.after));
  return query;
}

v1::Decision ToProto(const Decision& decision) {
  v1::Decision out;
  out.set_namespace_(decision.ns);
  out.set_document_id(decision.document_id);
  out.set_verdict(SameNumber<v1::Verdict>(decision.verdict));
  out.set_original_id(decision.original_id);
  out.set_similarity(decision.similarity);
  out.set_stage(SameNumber<v1::Stage>(decision.stage));
  for (const Candidate& candidate : decision.candidates) {
    *out.add_candidates() = ToProto(candidate);
  }
  out.set_policy_version(decision.policy_version);
  for (const Degradation degradation : decision.degradations) {
    out.add_degradations(SameNumber<v1::Degradation>(degradation));
  }
  out.set_recorded(decision.recorded);
  out.set_channel(decision.channel);
  *out.mutable_arrival_time() = ToTimestamp(decision.arrival_time);
  *out.mutable_decide_time() = ToTimestamp(decision.decide_time);
  if (decision.override_) *out.mutable_override() = ToProto(*decision.override_);
  return out;
}

v1::ListDuplicatesResponse ToProto(const DuplicateQuery& query, const DuplicatePage& page) {
  v1::ListDuplicatesResponse out;
  for (const Duplicate& duplicate : page.duplicates) {
    v1::Duplicate& to = *out.add_duplicates();
    to.set_document_id(duplicate.document_id);
    to.set_channel(duplicate.channel);
    to.set_url(duplicate.url);
    to.set_similarity(duplicate.similarity);
    to.set_stage(SameNumber<v1::Stage>(duplicate.stage));
    *to.mutable_arrival_time() = ToTimestamp(duplicate.arrival_time);
  }
  if (page.next) {
    out.set_next_page_token(MakePageToken(kDuplicatesToken, FilterHash(query), *page.next));
  }
  return out;
}

v1::GetCitationsResponse ToProto(const Citations& citations) {
  v1::GetCitationsResponse out;
  out.set_duplicate_count(citations.duplicate_count);
  out.set_channel_count(citations.channel_count);
  for (const ChannelCount& channel : citations.channels) {
    v1::ChannelCount& to = *out.add_channels();
    to.set_channel(channel.channel);
    to.set_count(channel.count);
  }
  return out;
}

v1::Embedder ToProto(const EmbedderCalibration& calibration) {
  v1::Embedder out;
  out.set_model(calibration.model);
  out.set_random_cosine(calibration.random);
  out.set_match_cosine(calibration.match);
  return out;
}

v1::CompareDocumentsResponse ToProto(const Comparison& comparison) {
  v1::CompareDocumentsResponse out;
  out.set_verdict(SameNumber<v1::Verdict>(comparison.verdict));
  *out.mutable_scores() = ToProto(comparison.scores);
  for (const StageResult& stage : comparison.stages) {
    v1::StageResult& to = *out.add_stages();
    to.set_stage(SameNumber<v1::Stage>(stage.stage));
    to.set_matched(stage.matched);
    to.set_similarity(stage.similarity);
    to.set_threshold(stage.threshold);
    to.set_detail(stage.detail);
  }
  for (const Guard guard : comparison.guards) out.add_guards(SameNumber<v1::Guard>(guard));
  for (const ModeResult& mode : comparison.modes) {
    v1::ModeResult& to = *out.add_modes();
    to.set_mode(SameNumber<v1::RuleMode>(mode.mode));
    to.set_verdict(SameNumber<v1::Verdict>(mode.verdict));
    to.set_stage(SameNumber<v1::Stage>(mode.stage));
    to.set_explanation(mode.explanation);
  }
  out.set_explanation(comparison.explanation);
  return out;
}

}  // namespace winnow::dedup
