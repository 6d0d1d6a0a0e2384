#include "services/classification/handlers.h"

#include <algorithm>
#include <limits>

#include "services/platform/grpc/rpc_status.h"
#include "services/platform/hash.h"
#include "services/platform/page_token.h"
#include "services/platform/text.h"
#include "services/platform/utf8.h"

// Comments, texts, policies and the audit. Runs, verdicts and overrides are beside.
namespace winnow::classification {
namespace {

constexpr size_t kMaxPart = size_t{16} << 20;
constexpr size_t kMaxRaw = size_t{128} << 20;
constexpr int kMaxParts = 1000;
constexpr size_t kBatch = 1000;
constexpr int kMaxTexts = 1000;
constexpr size_t kMaxTextCharacters = 20'000;
constexpr size_t kMaxTextsCharacters = 400'000;
constexpr int kMaxExplain = 20;
constexpr uint8_t kAuditToken = 40;

bool IsUploadId(const std::string& id) { return id.size() <= 64 && IsVideoId(id); }

Status CheckImport(const v1::ImportCommentsRequest& request, Violations& violations) {
  if (request.source_case() == v1::ImportCommentsRequest::SOURCE_NOT_SET) {
    violations.Add("source", "is required: send raw, or redis_key");
  }
  if (request.raw().size() > kMaxPart) {
    violations.Add("raw", "is over 16 MiB: send it in parts with upload_id, part and has_more");
  }
  if (request.redis_key().size() > 512) violations.Add("redis_key", "is over 512 bytes");
  const bool in_parts = request.has_more() || request.part() != 0;
  if (in_parts && !request.has_raw()) violations.Add("raw", "is required for a part");
  if (in_parts || !request.upload_id().empty()) {
    if (!IsUploadId(request.upload_id())) {
      violations.Add("upload_id", "must be [A-Za-z0-9_.-], 1 to 64 characters");
    }
    if (request.part() < 0 || request.part() >= kMaxParts) {
      violations.Add("part", "must be 0 to 999");
    }
  }
  return violations.ToStatus();
}

void CheckTexts(const v1::ClassifyTextsRequest& request, Violations& violations) {
  if (request.texts().empty() || request.texts_size() > kMaxTexts) {
    violations.Add("texts",
                   "has " + std::to_string(request.texts_size()) + " entries: send 1 to 1,000");
    return;
  }
  size_t all = 0;
  for (int i = 0; i < request.texts_size(); ++i) {
    const std::string field = "texts[" + std::to_string(i) + "]";
    const size_t characters = CountCharacters(request.texts(i));
    if (characters > kMaxTextCharacters) violations.Add(field, "is over 20,000 characters");
    CheckNoNul(request.texts(i), field, violations);
    all += characters;
  }
  if (all > kMaxTextsCharacters) {
    violations.Add("texts", "has " + std::to_string(all) +
                                " characters: send at most 400,000 in a call, the rest in others");
  }
}

// What computes for long asks between its parts whether somebody waits for it still.
Status StillWanted(const rpc::CallContext& call) {
  if (call.cancelled()) return rpc::Cancelled("the caller went away");
  if (call.TimeLeft().count() > 0) return OkStatus();
  return DeadlineExceeded("not done before the deadline: send less, or give it more time");
}

}  // namespace

StatusOr<v1::ImportCommentsResponse> Handlers::Import(const rpc::CallContext& call,
                                                      const VideoKey& key, std::string_view bytes,
                                                      const std::string& field) {
  v1::ImportCommentsResponse response;
  std::vector<Comment> batch;
  std::map<std::string, size_t> places;  // of ids in the batch
  Imported total;
  const auto flush = [&]() -> Status {
    if (batch.empty()) return OkStatus();
    WINNOW_ASSIGN_OR_RETURN(const Imported put, store_.PutComments(call.deadline, key, batch));
    total.created += put.created;
    total.updated += put.updated;
    total.unchanged += put.unchanged;
    batch.clear();
    places.clear();
    return OkStatus();
  };
  const auto take = [&](Comment comment) -> Status {
    const auto [place, is_new] = places.emplace(comment.id, batch.size());
    if (!is_new) {
      response.set_duplicates(response.duplicates() + 1);
      Comment& other = batch[place->second];
      if (comment.update_time >= other.update_time) other = std::move(comment);
      return OkStatus();
    }
    batch.push_back(std::move(comment));
    return batch.size() < kBatch ? OkStatus() : flush();
  };
  WINNOW_ASSIGN_OR_RETURN(const ParseReport report, ParseComments(bytes, field, take));
  WINNOW_RETURN_IF_ERROR(flush());
  response.set_shape(static_cast<v1::CommentShape>(report.shape));
  response.set_created(total.created);
  response.set_updated(total.updated);
  response.set_unchanged(total.unchanged);
  response.set_missing_replies(report.missing_replies);
  response.set_skipped_count(report.skipped_count);
  for (const Skipped& skipped : report.skipped) {
    v1::SkippedComment& out = *response.add_skipped();
    out.set_position(skipped.position);
    const std::string id(CutUtf8(skipped.id, 128));
    out.set_comment_id(IsValidUtf8(id) ? id : "");
    out.set_why(skipped.why);
  }
  metrics_.CountImported(total.created, total.updated, report.skipped_count);
  return response;
}

StatusOr<v1::ImportCommentsResponse> Handlers::ImportComments(
    const rpc::CallContext& call, const v1::ImportCommentsRequest& request) {
  Violations violations;
  const VideoKey key = ToVideoKey(request.namespace_(), request.video_id(), violations);
  WINNOW_RETURN_IF_ERROR(CheckImport(request, violations));
  if (!request.redis_key().empty()) {
    WINNOW_ASSIGN_OR_RETURN(const std::string raw,
                            options_.read_redis(call.deadline, request.redis_key()));
    if (raw.size() > kMaxRaw) return InvalidField("redis_key", "holds more than 128 MiB");
    WINNOW_RETURN_IF_ERROR(store_.TouchVideo(call.deadline, key));
    return Import(call, key, raw, "redis_key");
  }
  WINNOW_RETURN_IF_ERROR(store_.TouchVideo(call.deadline, key));
  const bool in_parts = request.has_more() || request.part() != 0;
  const std::string upload =
      request.upload_id().empty() ? "call-" + call.request_id.substr(0, 59) : request.upload_id();
  WINNOW_ASSIGN_OR_RETURN(
      const bool kept, store_.PutRawPart(call.deadline, key, IsUploadId(upload) ? upload : "call",
                                         request.part(), request.raw()));
  if (!kept && !request.upload_id().empty()) {
    return FailedPrecondition("part " + std::to_string(request.part()) + " of upload " + upload +
                              " came with other bytes before: take a new upload_id for each file");
  }
  if (request.has_more()) return v1::ImportCommentsResponse();
  if (!in_parts) return Import(call, key, request.raw(), "raw");
  WINNOW_ASSIGN_OR_RETURN(
      const std::string raw,
      store_.ReadRaw(call.deadline, key, request.upload_id(), request.part(), kMaxRaw));
  return Import(call, key, raw, "raw");
}

StatusOr<v1::DeleteVideoResponse> Handlers::DeleteVideo(const rpc::CallContext& call,
                                                        const v1::DeleteVideoRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const VideoKey key, ToVideoKey(request.namespace_(), request.video_id()));
  WINNOW_ASSIGN_OR_RETURN(const int64_t comments,
                          store_.DeleteVideo(call.deadline, key, call.caller));
  options_.video_deleted(key);
  v1::DeleteVideoResponse response;
  response.set_comment_count(comments);
  return response;
}

StatusOr<v1::ClassifyTextsResponse> Handlers::ClassifyTexts(
    const rpc::CallContext& call, const v1::ClassifyTextsRequest& request) {
  Violations violations;
  const std::string ns = ToNamespace(request.namespace_(), violations);
  CheckTexts(request, violations);
  if (request.explain() < 0 || request.explain() > kMaxExplain) {
    violations.Add("explain", "must be 0 to 20");
  }
  const std::string name = ToPolicyName(request.policy(), "policy", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const auto decider, policies_.Get(call.deadline, ns, name, 0));
  v1::ClassifyTextsResponse response;
  for (const std::string& text : request.texts()) {
    WINNOW_RETURN_IF_ERROR(StillWanted(call));
    const Decider::Decision decision = decider->Decide(text);
    v1::TextVerdict& verdict = *response.add_verdicts();
    verdict = ToProto(*decider, decision);
    if (request.explain() == 0 || decision.head < 0) continue;
    for (const Contribution& one : decider->model().Explain(
             text, static_cast<size_t>(decision.head), static_cast<size_t>(request.explain()))) {
      v1::NgramWeight& out = *verdict.add_ngrams();
      out.set_ngram(one.ngram);
      out.set_weight(one.weight);
    }
  }
  response.set_model(decider->model().version());
  response.set_policy(LabelOf(decider->policy()));
  return response;
}

StatusOr<v1::GetPolicyResponse> Handlers::GetPolicy(const rpc::CallContext& call,
                                                    const v1::GetPolicyRequest& request) {
  Violations violations;
  const std::string ns = ToNamespace(request.namespace_(), violations);
  if (request.version() < 0) violations.Add("version", "must not be negative");
  const std::string name = ToPolicyName(request.name(), "name", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const auto decider,
                          policies_.Get(call.deadline, ns, name, request.version()));
  v1::GetPolicyResponse response;
  *response.mutable_policy() = ToProto(decider->policy());
  return response;
}

StatusOr<v1::UpdatePolicyResponse> Handlers::UpdatePolicy(const rpc::CallContext& call,
                                                          const v1::UpdatePolicyRequest& request) {
  Violations violations;
  const std::string ns = ToNamespace(request.namespace_(), violations);
  if (!request.has_policy()) violations.Add("policy", "is required: set the policy");
  Policy policy = FromProto(request.policy());
  if (request.has_policy()) CheckPolicy(policy, "policy.", violations);
  const std::string actor = ToActor(request.actor(), call.caller, violations);
  CheckNote(request.note(), violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  const std::string before = LabelOf(policy);
  const int64_t first = policy.name == "default" ? 1 : 0;
  const int64_t base = policy.version;
  policy.version = base + 1;
  WINNOW_ASSIGN_OR_RETURN(
      policy.version, store_.PutPolicy(call.deadline, ns, policy.name, base, first, ToBody(policy),
                                       {.actor = actor,
                                        .action = "policy",
                                        .before = base == 0 ? "" : before,
                                        .after = LabelOf(policy),
                                        .note = request.note()}));
  v1::UpdatePolicyResponse response;
  *response.mutable_policy() = ToProto(policy);
  return response;
}

StatusOr<v1::PreviewPolicyResponse> Handlers::PreviewPolicy(
    const rpc::CallContext& call, const v1::PreviewPolicyRequest& request) {
  Violations violations;
  const VideoKey key = ToVideoKey(request.namespace_(), request.video_id(), violations);
  if (!request.has_policy()) violations.Add("policy", "is required: set the policy to try");
  Policy policy = FromProto(request.policy());
  if (request.has_policy()) CheckPolicy(policy, "policy.", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const int size, PageSize(request.sample_size(), 1000, 10'000));
  WINNOW_ASSIGN_OR_RETURN(const std::vector<Comment> sample,
                          store_.NewestComments(call.deadline, key, size));
  const Decider decider(EmbeddedModel(), std::move(policy));
  std::map<std::pair<CommentStatus, CommentStatus>, int64_t> matrix;
  StatusCounts counts{};
  for (size_t begin = 0; begin < sample.size(); begin += kBatch) {
    std::vector<std::string> ids;
    for (size_t i = begin; i < std::min(sample.size(), begin + kBatch); ++i) {
      ids.push_back(sample[i].id);
    }
    WINNOW_ASSIGN_OR_RETURN(const auto now, store_.GetClassifications(call.deadline, key, ids));
    for (size_t i = 0; i < ids.size(); ++i) {
      WINNOW_RETURN_IF_ERROR(StillWanted(call));
      const CommentStatus then = decider.Decide(sample[begin + i].text).outcome.status;
      ++counts[static_cast<size_t>(then)];
      ++matrix[{now[i] ? now[i]->status : CommentStatus::kNone, then}];
    }
  }
  v1::PreviewPolicyResponse response;
  *response.mutable_counts() = ToProto(counts);
  for (const auto& [pair, count] : matrix) {
    v1::ConfusionCell& cell = *response.add_matrix();
    cell.set_base_status(ToProto(pair.first));
    cell.set_status(ToProto(pair.second));
    cell.set_count(count);
  }
  return response;
}

StatusOr<v1::ListAuditEntriesResponse> Handlers::ListAuditEntries(
    const rpc::CallContext& call, const v1::ListAuditEntriesRequest& request) {
  Violations violations;
  const std::string ns = ToNamespace(request.namespace_(), violations);
  if (!request.video_id().empty()) ToVideoKey("", request.video_id(), violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const int size, PageSize(request.page_size(), 100, 1000));
  const uint64_t filter = Hash64(ns + "/" + request.video_id());
  int64_t before = std::numeric_limits<int64_t>::max();
  if (!request.page_token().empty()) {
    WINNOW_ASSIGN_OR_RETURN(auto token,
                            PageTokenReader::Parse(request.page_token(), kAuditToken, filter));
    WINNOW_ASSIGN_OR_RETURN(before, token.ReadNumber());
    WINNOW_RETURN_IF_ERROR(token.Finish());
  }
  WINNOW_ASSIGN_OR_RETURN(
      std::vector<AuditEntry> entries,
      store_.ListAudit(call.deadline, ns, request.video_id(), before, size + 1));
  v1::ListAuditEntriesResponse response;
  if (entries.size() > static_cast<size_t>(size)) {
    entries.resize(static_cast<size_t>(size));
    response.set_next_page_token(
        PageTokenWriter(kAuditToken, filter).Add(entries.back().id).Finish());
  }
  for (const AuditEntry& entry : entries) *response.add_entries() = ToProto(entry);
  return response;
}

}  // namespace winnow::classification
