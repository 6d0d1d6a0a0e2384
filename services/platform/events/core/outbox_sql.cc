#include "services/platform/events/core/outbox_sql.h"

#include <deque>
#include <map>
#include <memory>
#include <mutex>

namespace winnow::events {
namespace {

constexpr std::string_view kAppend =
    "INSERT INTO {schema}.outbox (event, envelope)"
    " SELECT event, envelope FROM unnest($1::text[], $2::bytea[]) AS e(event, envelope)";

// A multirange holds thousands of ids in a few bytes and is searched in log time; an array of them
// would be walked for each row.
//
// Here and below: an outbox is never analysed, and a statement planned while it was small is kept
// when it is large. Bounds that the planner does not know, and a LIMIT of 1, make it take the index
// at any size.
constexpr std::string_view kRead =
    "SELECT id, event, envelope FROM {schema}.outbox"
    " WHERE id BETWEEN $3::bigint AND $4::bigint AND NOT ($1::int8multirange @> id)"
    " ORDER BY id LIMIT $2::integer";

constexpr std::string_view kRemove =
    "DELETE FROM {schema}.outbox USING unnest($1::int8multirange) AS done(ids)"
    " WHERE id >= lower(done.ids) AND id < upper(done.ids)";

constexpr std::string_view kBury =
    "INSERT INTO {schema}.dead_letters"
    " (outbox_id, consumer, event, envelope, reason, deliveries, create_time)"
    " SELECT o.id, d.consumer, o.event, o.envelope, d.reason, d.deliveries, o.create_time"
    " FROM unnest($1::bigint[], $2::text[], $3::text[], $4::integer[])"
    "   AS d(id, consumer, reason, deliveries) CROSS JOIN LATERAL"
    "   (SELECT id, event, envelope, create_time FROM {schema}.outbox WHERE id = d.id LIMIT 1) AS o"
    " ON CONFLICT (outbox_id, consumer) DO NOTHING";

// Free when it ended, when its holder took it before the last start of the server (that holder has
// lost its connections, and most likely ended with the server), and when nobody has its holder's
// sign of life: the server takes that back when the process dies. Where there is a pooler, which
// keeps the connections of dead peers, only a timeout detects it.
constexpr std::string_view kTake =
    "INSERT INTO {schema}.outbox_lease AS l (holder, renew_time, expire_time)"
    " VALUES ($1::uuid, clock_timestamp(), clock_timestamp() + $2::bigint * interval '1 ms')"
    " ON CONFLICT (only_row) DO UPDATE SET holder = excluded.holder,"
    "   renew_time = excluded.renew_time, expire_time = excluded.expire_time"
    " WHERE l.holder = excluded.holder OR l.expire_time < clock_timestamp()"
    "   OR l.renew_time < pg_postmaster_start_time()"
    "   OR ($3::boolean AND pg_try_advisory_xact_lock(hashtextextended(l.holder::text, 0)))"
    " RETURNING 1";

// A lock of the session, so that it goes with the connection. False: another connection of this
// process has it.
constexpr std::string_view kShowLife =
    "SELECT pg_try_advisory_lock(hashtextextended($1::uuid::text, 0))";

constexpr std::string_view kRelease =
    "UPDATE {schema}.outbox_lease SET expire_time = '-infinity' WHERE holder = $1::uuid";

constexpr std::string_view kBacklog =
    "SELECT count(*) AS depth,"
    " coalesce(extract(epoch FROM clock_timestamp() - min(create_time)), 0)::float8 AS age_seconds"
    " FROM (SELECT create_time FROM {schema}.outbox WHERE id BETWEEN $2::bigint AND $3::bigint"
    "       ORDER BY id LIMIT $1::integer) AS oldest";

constexpr std::string_view kDead =
    "SELECT count(*) AS letters FROM"
    " (SELECT outbox_id FROM {schema}.dead_letters LIMIT $1::integer) AS counted";

// Of a dead letter: whose queue it was, as queues of a broker are named; and what a selection
// means.
constexpr std::string_view kDeadMatches =
    " ($1::text = '' OR $1 = CASE WHEN consumer = '' THEN '{schema}.outbox' ELSE"
    " 'winnow.' || consumer || '.' || regexp_replace(event, '^.*[.]', '') || '.v1' END)"
    " AND ($2::text = '' OR event = $2)";

std::string ListDead() {
  return "SELECT outbox_id, consumer, event, envelope, reason, deliveries, dead_time"
         " FROM {schema}.dead_letters WHERE" +
         std::string(kDeadMatches) +
         " AND (outbox_id, consumer) > ($3::bigint, $4::text)"
         " ORDER BY outbox_id, consumer LIMIT $5::integer";
}

std::string ChosenDead() {
  return "SELECT outbox_id, consumer FROM {schema}.dead_letters WHERE" + std::string(kDeadMatches) +
         " AND (NOT $3::boolean OR (outbox_id, consumer) IN"
         "   (SELECT u.row_id, u.name FROM unnest($4::bigint[], $5::text[]) AS u(row_id, name)))"
         " ORDER BY outbox_id, consumer LIMIT $6::integer";
}

// Two calls at once take different ones.
std::string TakeDead(std::string_view and_then) {
  return "WITH chosen AS (" + ChosenDead() +
         " FOR UPDATE SKIP LOCKED), taken AS (DELETE FROM {schema}.dead_letters AS d USING chosen"
         " WHERE d.outbox_id = chosen.outbox_id AND d.consumer = chosen.consumer"
         " RETURNING d.outbox_id, d.consumer, d.event, d.envelope)" +
         std::string(and_then) + " SELECT outbox_id, consumer FROM taken";
}

// One row each, also where several consumers had one event among their dead.
constexpr std::string_view kBackIntoOutbox =
    ", back AS (INSERT INTO {schema}.outbox (event, envelope)"
    " SELECT DISTINCT ON (outbox_id) event, envelope FROM taken ORDER BY outbox_id)";

// Owns the text that the statements of one schema point into.
struct Entry {
  std::deque<std::string> texts;
  OutboxSql sql;
};

const char* Keep(Entry& entry, std::string text) {
  return entry.texts.emplace_back(std::move(text)).c_str();
}

std::unique_ptr<Entry> MakeEntry(const std::string& schema) {
  auto entry = std::make_unique<Entry>();
  const auto make = [&](std::string_view name, std::string_view text) {
    const char* full_name = Keep(*entry, schema + ".outbox_" + std::string(name));
    return pg::Statement{full_name, Keep(*entry, WithSchema(text, schema))};
  };
  entry->sql = {
      .append = make("append", kAppend),
      .read = make("read", kRead),
      .remove = make("remove", kRemove),
      .bury = make("bury", kBury),
      .take = make("take", kTake),
      .show_life = make("show_life", kShowLife),
      .release = make("release", kRelease),
      .backlog = make("backlog", kBacklog),
      .dead = make("dead", kDead),
      .list_dead = make("list_dead", ListDead()),
      .count_dead = make("count_dead", ChosenDead()),
      .replay_dead = make("replay_dead", TakeDead(kBackIntoOutbox)),
      .purge_dead = make("purge_dead", TakeDead("")),
  };
  return entry;
}

}  // namespace

const OutboxSql& SqlOf(const std::string& schema) {
  static std::mutex mutex;
  static auto& entries = *new std::map<std::string, std::unique_ptr<Entry>>;
  const std::lock_guard lock(mutex);
  auto& entry = entries[schema];
  if (entry == nullptr) entry = MakeEntry(schema);
  return entry->sql;
}

std::string WithSchema(std::string_view text, std::string_view schema) {
  constexpr std::string_view kMark = "{schema}";
  std::string out;
  for (size_t at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark)) {
    out += text.substr(0, at);
    out += schema;
    text.remove_prefix(at + kMark.size());
  }
  return out += text;
}

}  // namespace winnow::events
