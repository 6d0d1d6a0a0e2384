#include "services/platform/events/dead_letters/dead_letter_handlers.h"

#include <utility>

#include "services/platform/base/hash.h"
#include "services/platform/base/page_token.h"
#include "services/platform/process/log.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::events {
namespace {

constexpr uint8_t kToken = 60;
constexpr int kDefaultPage = 50;
constexpr int kMaxPage = 1'000;
constexpr int kMaxIds = 1'000;
constexpr size_t kMaxIdBytes = 512;
constexpr size_t kMaxNameBytes = 256;

void CheckName(const std::string& name, const std::string& field, Violations& violations) {
  if (name.size() > kMaxNameBytes) {
    violations.Add(field, "is longer than " + std::to_string(kMaxNameBytes) + " bytes");
  }
  if (name.find('\0') != name.npos) violations.Add(field, "has a character U+0000: leave it out");
}

void CheckIds(const v1::DeadLetterSelection& selection, Violations& violations) {
  if (selection.ids_size() > kMaxIds) {
    violations.Add("selection.ids", "has " + std::to_string(selection.ids_size()) +
                                        " entries: send at most " + std::to_string(kMaxIds) +
                                        " a call");
    return;
  }
  for (int i = 0; i < selection.ids_size(); ++i) {
    const std::string& id = selection.ids(i);
    if (!id.empty() && id.size() <= kMaxIdBytes && id.find('\0') == id.npos) continue;
    violations.Add("selection.ids[" + std::to_string(i) + "]",
                   "is not a dead-letter ID: use one that ListDeadLetters returned");
  }
}

StatusOr<DeadLetterSelection> FromProto(const v1::DeadLetterSelection& selection) {
  Violations violations;
  CheckIds(selection, violations);
  CheckName(selection.queue(), "selection.queue", violations);
  CheckName(selection.event(), "selection.event", violations);
  const bool chosen =
      selection.ids_size() > 0 || !selection.queue().empty() || !selection.event().empty();
  if (!chosen && !selection.all()) {
    violations.Add("selection", "is required: set ids, queue or event, or all for all of them");
  }
  if (chosen && selection.all()) {
    violations.Add("selection.all", "goes with nothing else: leave it out, or all the rest");
  }
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  return DeadLetterSelection{
      {selection.ids().begin(), selection.ids().end()}, selection.queue(), selection.event()};
}

uint64_t FilterHash(const v1::ListDeadLettersRequest& request) {
  return Hash64(request.queue() + '\n' + request.event());
}

StatusOr<std::optional<DeadLetterKey>> ReadToken(const v1::ListDeadLettersRequest& request) {
  if (request.page_token().empty()) return std::optional<DeadLetterKey>();
  DeadLetterKey key;
  WINNOW_RETURN_IF_ERROR(ReadPageToken(request.page_token(), kToken, FilterHash(request),
                                       key.source, key.number, key.text));
  return std::optional<DeadLetterKey>(std::move(key));
}

v1::DeadLetter ToProto(const DeadLetterRecord& record) {
  v1::DeadLetter out;
  out.set_id(record.id);
  out.set_queue(record.queue);
  out.set_event(record.event);
  out.set_event_id(record.event_id);
  out.set_namespace_(record.ns);
  out.set_reason(record.reason);
  out.set_attempts(record.attempts);
  if (record.occur_time) *out.mutable_occur_time() = ToTimestamp(*record.occur_time);
  *out.mutable_dead_time() = ToTimestamp(record.dead_time);
  out.set_size_bytes(static_cast<int32_t>(record.size));
  return out;
}

template <class Response>
Response ToProto(const DeadLetterOutcome& outcome) {
  Response response;
  response.set_dead_letter_count(static_cast<int32_t>(outcome.count));
  for (const std::string& id : outcome.missing_ids) response.add_missing_ids(id);
  response.set_limit_reached(outcome.limit_reached);
  return response;
}

}  // namespace

DeadLetterHandlers::DeadLetterHandlers(DeadLetters& dead_letters, Metrics& metrics)
    : dead_letters_(dead_letters),
      replayed_(metrics.GetCounter("winnow_dead_letters_replayed_total",
                                   "Dead letters that were delivered again by hand.")),
      purged_(metrics.GetCounter("winnow_dead_letters_purged_total",
                                 "Dead letters that operators purged.")) {}

StatusOr<v1::ListDeadLettersResponse> DeadLetterHandlers::ListDeadLetters(
    const rpc::CallContext& call, const v1::ListDeadLettersRequest& request) {
  Violations violations;
  CheckName(request.queue(), "queue", violations);
  CheckName(request.event(), "event", violations);
  const StatusOr<int> size = PageSize(request.page_size(), kDefaultPage, kMaxPage);
  if (!size.ok()) violations.Add("page_size", "must not be negative; 0 means 50");
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const auto after, ReadToken(request));
  const DeadLetterSelection selection{{}, request.queue(), request.event()};
  const auto page = static_cast<size_t>(*size);
  WINNOW_ASSIGN_OR_RETURN(auto records,  // one more shows whether this is the end
                          dead_letters_.List(call.deadline, selection, after, page + 1));
  v1::ListDeadLettersResponse response;
  if (records.size() > page) {
    records.resize(page);
    const DeadLetterKey& last = records.back().key;
    response.set_next_page_token(
        MakePageToken(kToken, FilterHash(request), last.source, last.number, last.text));
  }
  for (const DeadLetterRecord& record : records) *response.add_dead_letters() = ToProto(record);
  return response;
}

StatusOr<v1::ReplayDeadLettersResponse> DeadLetterHandlers::ReplayDeadLetters(
    const rpc::CallContext& call, const v1::ReplayDeadLettersRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const DeadLetterSelection selection, FromProto(request.selection()));
  const auto action = request.dry_run() ? DeadLetterAction::kCount : DeadLetterAction::kReplay;
  WINNOW_ASSIGN_OR_RETURN(const DeadLetterOutcome outcome,
                          dead_letters_.Apply(call.deadline, selection, action));
  if (!request.dry_run()) {
    replayed_.Increment(static_cast<double>(outcome.count));
    log::Info("dead letters are replayed", {{"count", outcome.count}, {"caller", call.caller}});
  }
  return ToProto<v1::ReplayDeadLettersResponse>(outcome);
}

StatusOr<v1::PurgeDeadLettersResponse> DeadLetterHandlers::PurgeDeadLetters(
    const rpc::CallContext& call, const v1::PurgeDeadLettersRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const DeadLetterSelection selection, FromProto(request.selection()));
  const auto action = request.dry_run() ? DeadLetterAction::kCount : DeadLetterAction::kPurge;
  WINNOW_ASSIGN_OR_RETURN(const DeadLetterOutcome outcome,
                          dead_letters_.Apply(call.deadline, selection, action));
  if (!request.dry_run()) {
    purged_.Increment(static_cast<double>(outcome.count));
    log::Warn("dead letters are purged", {{"count", outcome.count}, {"caller", call.caller}});
  }
  return ToProto<v1::PurgeDeadLettersResponse>(outcome);
}

}  // namespace winnow::events
