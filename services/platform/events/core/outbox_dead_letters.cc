#include "services/platform/events/core/outbox_dead_letters.h"

#include <charconv>

#include "services/platform/events/core/outbox_sql.h"
#include "services/platform/events/core/topology.h"

namespace winnow::events {
namespace {

// What an id names: "<schema>/<row>/<consumer>".
struct RowId {
  std::string schema;
  int64_t row = 0;
  std::string consumer;
};

std::string ToId(const RowId& id) {
  return id.schema + "/" + std::to_string(id.row) + "/" + id.consumer;
}

std::optional<RowId> ParseId(std::string_view text) {
  const size_t first = text.find('/');
  const size_t second = text.find('/', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  RowId id{std::string(text.substr(0, first)), 0, std::string(text.substr(second + 1))};
  const char* end = text.data() + second;
  const auto read = std::from_chars(text.data() + first + 1, end, id.row);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return id;
}

std::string QueueOf(const RowId& id, const std::string& event) {
  return id.consumer.empty() ? id.schema + ".outbox" : QueueName(id.consumer, event);
}

// The ids of a selection as two arrays of one length, for one schema.
struct IdArrays {
  bool any = false;  // whether the selection has ids at all
  pg::Array rows;
  pg::Array consumers;
};

IdArrays ArraysOf(const DeadLetterSelection& selection, const std::string& schema) {
  IdArrays arrays{.any = !selection.ids.empty(), .rows = {}, .consumers = {}};
  for (const std::string& text : selection.ids) {
    const std::optional<RowId> id = ParseId(text);
    if (!id || id->schema != schema) continue;
    arrays.rows.Add(id->row);
    arrays.consumers.Add(id->consumer);
  }
  return arrays;
}

const pg::Statement& StatementOf(const OutboxSql& sql, DeadLetterAction action) {
  switch (action) {
    case DeadLetterAction::kReplay:
      return sql.replay_dead;
    case DeadLetterAction::kPurge:
      return sql.purge_dead;
    default:
      return sql.count_dead;
  }
}

}  // namespace

void OutboxDeadLetters::AddSchema(const std::string& schema) {
  const std::lock_guard lock(mutex_);
  schemas_.insert(schema);
}

std::vector<std::string> OutboxDeadLetters::Schemas() const {
  const std::lock_guard lock(mutex_);
  return {schemas_.begin(), schemas_.end()};
}

StatusOr<std::vector<DeadLetterRecord>> OutboxDeadLetters::List(
    Deadline deadline, const DeadLetterSelection& selection,
    const std::optional<DeadLetterKey>& after, size_t limit) {
  std::vector<DeadLetterRecord> records;
  const auto read = [&](pg::Session& session, const std::string& schema) {
    const bool within = after && after->source == schema;
    const auto result =
        session.Execute(SqlOf(schema).list_dead, selection.queue, selection.event,
                        within ? after->number : int64_t{-1}, within ? after->text : std::string(),
                        static_cast<int>(limit - records.size()));
    for (const auto& row : result) {
      const RowId id{schema, row[0].as<int64_t>(), row[1].as<std::string>()};
      DeadLetterRecord record;
      record.key = {schema, id.row, id.consumer};
      record.id = ToId(id);
      record.event = row[2].as<std::string>();
      record.queue = QueueOf(id, record.event);
      record.reason = KeptReason(row[4].as<std::string>());
      record.attempts = row[5].as<int>();
      record.dead_time = pg::ToTime(row[6]);
      DescribeEnvelope(pg::ToBytes(row[3]), record);
      records.push_back(std::move(record));
    }
  };
  WINNOW_RETURN_IF_ERROR(pool_.Statements(deadline, [&](pg::Session& session) {
    records.clear();
    for (const std::string& schema : Schemas()) {
      if (records.size() >= limit) break;
      if (!after || schema >= after->source) read(session, schema);
    }
    return OkStatus();
  }));
  return records;
}

StatusOr<DeadLetterOutcome> OutboxDeadLetters::Apply(Deadline deadline,
                                                     const DeadLetterSelection& selection,
                                                     DeadLetterAction action) {
  std::set<std::string> found;
  WINNOW_RETURN_IF_ERROR(pool_.Transaction(deadline, [&](pg::Session& session) {
    found.clear();  // a transaction that collided runs again
    for (const std::string& schema : Schemas()) {
      const IdArrays ids = ArraysOf(selection, schema);
      const auto result = session.Execute(StatementOf(SqlOf(schema), action), selection.queue,
                                          selection.event, ids.any, ids.rows, ids.consumers,
                                          static_cast<int>(kMaxDeadLetters - found.size()));
      for (const auto& row : result) {
        found.insert(ToId({schema, row[0].as<int64_t>(), row[1].as<std::string>()}));
      }
    }
    return OkStatus();
  }));
  DeadLetterOutcome outcome{found.size(), {}, found.size() >= kMaxDeadLetters};
  for (const std::string& id : selection.ids) {
    if (!found.contains(id)) outcome.missing_ids.push_back(id);
  }
  return outcome;
}

}  // namespace winnow::events
