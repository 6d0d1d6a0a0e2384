#include <future>
#include <unordered_map>
#include <unordered_set>

#include "services/classification/api/handlers.h"
#include "services/platform/base/utf8.h"
#include "services/platform/grpc/errors/rpc_status.h"

// What external agents deliver into runs. Messages that follow each other into one run share a
// look-up and a transaction, and each is answered as if it had come alone, but for missing_count.
namespace winnow::classification {
namespace {

constexpr size_t kMaxVerdicts = 1000;  // of a message, and of messages that share
constexpr int kMaxRefused = 100;
constexpr std::chrono::seconds kLimit(30);

using Found = StatusOr<RunStore::FoundInput>;

// A message, checked.
struct Delivered {
  Status status = OkStatus();
  NumberKey run;
  std::vector<std::string> ids;
  std::vector<Outcome> outcomes;
  size_t position = 0;  // among the messages
};

void AddVerdict(const v1::Verdict& verdict, bool listed, Violations& violations,
                Delivered& delivered) {
  // Where it stands is written down only when there is something to say of it.
  Violations wrong;
  delivered.outcomes.push_back(FromProto(verdict, "", wrong));
  CheckNoNul(verdict.comment_id(), "", wrong);
  if (!wrong.empty()) {
    const std::string at = "verdicts.verdicts[" + std::to_string(delivered.ids.size()) + "].";
    FromProto(verdict, at, violations);
    CheckNoNul(verdict.comment_id(), listed ? "lists" : at + "comment_id", violations);
  }
  delivered.ids.push_back(verdict.comment_id());
}

Status ReadMessage(const v1::IngestVerdictsRequest& request, Delivered& delivered) {
  Violations violations;
  const auto& verdicts = request.verdicts().verdicts();
  if (request.has_lists()) {
    for (const v1::Verdict& verdict : FromLists(request.lists(), violations)) {
      AddVerdict(verdict, true, violations, delivered);
    }
  } else if (verdicts.empty() || static_cast<size_t>(verdicts.size()) > kMaxVerdicts) {
    violations.Add("verdicts.verdicts", "has " + std::to_string(verdicts.size()) +
                                            " entries: send 1 to 1,000, or lists");
  } else {
    for (const v1::Verdict& verdict : verdicts) AddVerdict(verdict, false, violations, delivered);
  }
  WINNOW_ASSIGN_OR_RETURN(
      delivered.run, ToKey(request.namespace_(), request.run_id(), "run_id", "run", violations));
  return OkStatus();
}

using Group = std::vector<Delivered>;

// Messages of one run in a row, of as many verdicts as a message may have; those that were refused
// stand alone.
std::vector<Group> ToGroups(std::span<const v1::IngestVerdictsRequest> requests) {
  std::vector<Group> groups;
  size_t size = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    Delivered one;
    one.position = i;
    one.status = ReadMessage(requests[i], one);
    size += one.ids.size();
    const bool joins = !groups.empty() && one.status.ok() && groups.back()[0].status.ok() &&
                       groups.back()[0].run.id == one.run.id &&
                       groups.back()[0].run.ns == one.run.ns && size <= kMaxVerdicts;
    if (!joins) {
      groups.emplace_back();
      size = one.ids.size();
    }
    groups.back().push_back(std::move(one));
  }
  return groups;
}

std::vector<std::string> IdsOf(const Group& group) {
  std::vector<std::string> ids;
  for (const Delivered& one : group) ids.insert(ids.end(), one.ids.begin(), one.ids.end());
  return ids;
}

void Refuse(const std::string& id, const char* why, v1::IngestedVerdicts& ingested) {
  ingested.set_refused_count(ingested.refused_count() + 1);
  if (ingested.refused_size() >= kMaxRefused) return;
  v1::RefusedVerdict& refused = *ingested.add_refused();
  refused.set_comment_id(std::string(CutUtf8(id, 128)));
  refused.set_why(why);
}

// The verdicts of known comments, once each; the outcome of the others is in `ingested`.
std::vector<CommentOutcome> Sort(const Delivered& delivered, std::span<const FoundComment> found,
                                 v1::IngestedVerdicts& ingested) {
  std::unordered_map<int64_t, size_t> first;  // of the comments of this message
  first.reserve(found.size());
  std::vector<CommentOutcome> known;
  known.reserve(found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const Outcome& outcome = delivered.outcomes[i];
    if (found[i].ambiguous) {
      Refuse(delivered.ids[i], "the alias is of several comments: use the full id", ingested);
    } else if (found[i].number == 0) {
      Refuse(delivered.ids[i], "no comment of the video has this id", ingested);
    } else if (const auto [at, is_new] = first.emplace(found[i].number, i); is_new) {
      known.push_back({found[i].number, found[i].content_hash, outcome});
    } else if (delivered.outcomes[at->second].status != outcome.status) {
      Refuse(delivered.ids[i], "it came with another status before: the first one stays", ingested);
    } else {
      ingested.set_repeated_count(ingested.repeated_count() + 1);
    }
  }
  return known;
}

void CountFate(WriteResult fate, v1::IngestedVerdicts& ingested) {
  if (fate == WriteResult::kWritten) ingested.set_written_count(ingested.written_count() + 1);
  if (fate == WriteResult::kKnown) ingested.set_known_count(ingested.known_count() + 1);
  if (fate == WriteResult::kIgnored) ingested.set_ignored_count(ingested.ignored_count() + 1);
}

}  // namespace

// Messages whose verdicts are written in one transaction, in which each comment comes once.
struct Handlers::Writing {
  NumberKey run;
  VideoKey video;
  std::vector<CommentOutcome> outcomes;
  std::vector<v1::IngestVerdictsResponse*> of;  // the answer that each outcome counts in
  std::vector<v1::IngestVerdictsResponse*> responses;
  std::unordered_set<int64_t> comments;

  bool Holds(std::span<const CommentOutcome> others) const {
    return std::any_of(others.begin(), others.end(),
                       [&](const CommentOutcome& one) { return comments.contains(one.comment); });
  }
  void Add(std::span<const CommentOutcome> more, v1::IngestVerdictsResponse& response) {
    responses.push_back(&response);
    of.insert(of.end(), more.size(), &response);
    outcomes.insert(outcomes.end(), more.begin(), more.end());
    for (const CommentOutcome& one : more) comments.insert(one.comment);
  }
  void Clear() {
    outcomes.clear();
    of.clear();
    responses.clear();
    comments.clear();
  }
};

void Handlers::Write(const rpc::CallContext& call, Deadline deadline, const Writing& writing) {
  if (writing.responses.empty()) return;
  const auto written =
      stores_.runs.IngestOutcomes(deadline, writing.run, writing.outcomes, call.caller);
  Status status = written.status();
  if (status.ok() && written->active)
    status = stores_.comments.RaiseRevision(deadline, writing.video);
  if (!status.ok()) {
    for (v1::IngestVerdictsResponse* response : writing.responses) {
      *response->mutable_error() = rpc::ToRpcStatus(status, call.request_id);
    }
    return;
  }
  for (size_t i = 0; i < writing.outcomes.size(); ++i) {
    CountFate(written->results[i], *writing.of[i]->mutable_ingested());
    if (written->results[i] == WriteResult::kWritten) metrics_.Count(writing.outcomes[i].outcome);
  }
  for (v1::IngestVerdictsResponse* response : writing.responses) {
    response->mutable_ingested()->set_missing_count(written->missing);
  }
  if (written->complete) worker_.Wake();  // to be activated
  if (written->active) WakeProjection();
}

StatusOr<std::vector<v1::IngestVerdictsResponse>> Handlers::IngestVerdicts(
    const rpc::CallContext& call, std::span<const v1::IngestVerdictsRequest> requests) {
  // Of one group, not of all that came together.
  const auto deadline = [&] {
    return std::min(call.deadline, std::chrono::steady_clock::now() + kLimit);
  };
  const auto look_up = [&](const Group& group) -> Found {
    WINNOW_RETURN_IF_ERROR(group[0].status);
    return stores_.runs.FindInput(deadline(), group[0].run, IdsOf(group));
  };
  std::vector<v1::IngestVerdictsResponse> responses(requests.size());
  const auto write = [&](const Group& group, const Found& found) {
    if (!found.ok()) {
      for (const Delivered& one : group) {
        *responses[one.position].mutable_error() =
            rpc::ToRpcStatus(found.status(), call.request_id);
      }
      return;
    }
    Writing writing{group[0].run, found->video, {}, {}, {}, {}};
    std::span<const FoundComment> rest = found->comments;
    for (const Delivered& one : group) {
      v1::IngestVerdictsResponse& response = responses[one.position];
      const std::vector<CommentOutcome> known =
          Sort(one, rest.first(one.ids.size()), *response.mutable_ingested());
      rest = rest.subspan(one.ids.size());
      if (writing.Holds(known)) {
        Write(call, deadline(), writing);
        writing.Clear();
      }
      writing.Add(known, response);
    }
    Write(call, deadline(), writing);
  };
  const std::vector<Group> groups = ToGroups(requests);
  Found found = look_up(groups[0]);
  for (size_t g = 0; g < groups.size(); ++g) {
    std::future<Found> next;  // looked up while these are written
    if (g + 1 < groups.size())
      next = std::async(std::launch::async, look_up, std::cref(groups[g + 1]));
    write(groups[g], found);
    if (next.valid()) found = next.get();
  }
  return responses;
}

}  // namespace winnow::classification
