#include "services/classification/api/handlers.h"
#include "services/platform/base/text.h"
#include "services/platform/base/utf8.h"

// Comments and texts. The others are beside.
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
    WINNOW_ASSIGN_OR_RETURN(const Imported put,
                            stores_.comments.PutComments(call.deadline, key, batch));
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
      response.set_duplicate_count(response.duplicate_count() + 1);
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
  response.set_created_count(total.created);
  response.set_updated_count(total.updated);
  response.set_unchanged_count(total.unchanged);
  response.set_missing_reply_count(report.missing_replies);
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
    if (projection_ == nullptr) {
      return FailedPrecondition("no Redis is set up (redis.url): send raw bytes");
    }
    WINNOW_ASSIGN_OR_RETURN(const std::string raw,
                            projection_->Read(call.deadline, request.redis_key()));
    if (raw.size() > kMaxRaw) return InvalidField("redis_key", "holds more than 128 MiB");
    WINNOW_RETURN_IF_ERROR(stores_.comments.TouchVideo(call.deadline, key));
    return Import(call, key, raw, "redis_key");
  }
  WINNOW_RETURN_IF_ERROR(stores_.comments.TouchVideo(call.deadline, key));
  const bool in_parts = request.has_more() || request.part() != 0;
  const std::string upload =
      request.upload_id().empty() ? "call-" + call.request_id.substr(0, 59) : request.upload_id();
  WINNOW_ASSIGN_OR_RETURN(
      const bool kept,
      stores_.comments.PutRawPart(call.deadline, key, IsUploadId(upload) ? upload : "call",
                                  request.part(), request.raw()));
  if (!kept && !request.upload_id().empty()) {
    return FailedPrecondition("part " + std::to_string(request.part()) + " of upload " + upload +
                              " came with other bytes before: take a new upload_id for each file");
  }
  if (request.has_more()) return v1::ImportCommentsResponse();
  if (!in_parts) return Import(call, key, request.raw(), "raw");
  WINNOW_ASSIGN_OR_RETURN(
      const std::string raw,
      stores_.comments.ReadRaw(call.deadline, key, request.upload_id(), request.part(), kMaxRaw));
  return Import(call, key, raw, "raw");
}

StatusOr<v1::DeleteVideoResponse> Handlers::DeleteVideo(const rpc::CallContext& call,
                                                        const v1::DeleteVideoRequest& request) {
  Violations violations;
  const VideoKey key = ToVideoKey(request.namespace_(), request.video_id(), violations);
  const Actor speaker = ToActor(call, request, violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const int64_t comments,
                          stores_.comments.DeleteVideo(call.deadline, key, speaker));
  if (projection_ != nullptr) projection_->Remove(key);
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
  const PolicyRef policy = ToPolicyRef(request.policy_name(), request.policy_version(), violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const auto decider, stores_.cached_policies.Get(
                                                  call.deadline, ns, policy.name, policy.version));
  v1::ClassifyTextsResponse response;
  for (const std::string& text : request.texts()) {
    WINNOW_RETURN_IF_ERROR(CheckWanted(call));
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
  response.set_policy_name(decider->policy().name);
  response.set_policy_version(decider->policy().version);
  return response;
}

}  // namespace winnow::classification
