// Two documents compared, and nothing else known.
#include <chrono>
#include <cstdio>

#include "services/dedup/api/convert.h"
#include "services/dedup/api/handlers.h"
#include "services/dedup/judge/compare.h"

namespace winnow::dedup {
namespace {

// What the embedder says of two titles.
struct Meaning {
  bool is_away = false;
  std::optional<double> cosine;
  std::optional<double> semantic;  // scaled
  std::string detail;
};

std::string DetailOf(const EmbedderCalibration& model, double cosine) {
  char text[160];
  std::snprintf(
      text, sizeof(text),
      "Cosine %.3f, where random pairs have %.3f and pairs of one story %.3f or more, by ", cosine,
      model.random, model.match);
  return text + model.model + ".";
}

Meaning MeaningOf(EmbedderWorker* embedder, const std::string& earlier, const std::string& later,
                  Deadline deadline) {
  Meaning meaning;
  // A title of nothing but boilerplate has no meaning to compare.
  if (embedder == nullptr || earlier.empty() || later.empty()) return meaning;
  const std::vector<std::string> texts = {earlier, later};
  const auto vectors = embedder->Embed(texts, deadline, EmbedderWorker::Caller::kComparison);
  if (!vectors.ok()) {
    meaning.is_away = true;
    meaning.detail = "The embedder is unavailable: " + Message(vectors.status()) + ".";
    return meaning;
  }
  meaning.cosine = index::VectorCosine((*vectors)[0], (*vectors)[1]);
  meaning.semantic = embedder->calibration().Scale(*meaning.cosine);
  meaning.detail = DetailOf(embedder->calibration(), *meaning.cosine);
  return meaning;
}

}  // namespace

StatusOr<v1::CompareDocumentsResponse> Handlers::CompareDocuments(
    const rpc::CallContext& call, const v1::CompareDocumentsRequest& request) {
  Violations violations;
  if (!request.has_earlier()) violations.Add("earlier", "is required: set the earlier document");
  if (!request.has_later()) violations.Add("later", "is required: set the later document");
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  Document earlier = FromProto(request.earlier(), "earlier", violations);
  Document later = FromProto(request.later(), "later", violations);
  Accept(earlier, IdRule::kOptional, "earlier", violations);
  Accept(later, IdRule::kOptional, "later", violations);
  if (earlier.ns != later.ns) {
    violations.Add("later.namespace", "must be that of the earlier document: both meet only there");
  }
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const PolicyVersion version,
                          store_.GetPolicy(call.deadline, earlier.ns, 0, parts_.initial_policy));
  const Fingerprint first = parts_.rules.Of(earlier.title, earlier.text, earlier.canonical_url);
  const Fingerprint second = parts_.rules.Of(later.title, later.text, later.canonical_url);
  const Meaning meaning =
      MeaningOf(parts_.embedder, first.normalized_title, second.normalized_title,
                std::min(call.deadline, std::chrono::steady_clock::now() + parts_.embedder_time));
  Pair pair{first,     second,           earlier.channel == later.channel,
            Micros(0), meaning.semantic, meaning.detail};
  if (earlier.arrival_time && later.arrival_time) {
    pair.apart = *later.arrival_time - *earlier.arrival_time;
  }
  auto response = ToProto(Compare(pair, version.rules, parts_.rules.words()));
  response.set_earlier_normalized_title(first.normalized_title);
  response.set_later_normalized_title(second.normalized_title);
  *response.mutable_policy() = ToProto(earlier.ns, version);
  if (parts_.embedder != nullptr) *response.mutable_embedder() = ToProto(*parts_.meaning());
  if (meaning.cosine) response.set_semantic_cosine(*meaning.cosine);
  if (meaning.is_away) response.add_degradations(v1::DEGRADATION_EMBEDDER);
  return response;
}

}  // namespace winnow::dedup
