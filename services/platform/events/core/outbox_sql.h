#pragma once

#include <string>
#include <string_view>

#include "services/platform/postgres/session/session.h"

// The statements over the outbox of one schema.
namespace winnow::events {

struct OutboxSql {
  pg::Statement append;     // events text[], envelopes bytea[]
  pg::Statement read;       // ids in flight as int8multirange, most to read, lowest and highest id
  pg::Statement remove;     // ids as int8multirange
  pg::Statement bury;       // ids, consumers, reasons, deliveries: arrays of one length
  pg::Statement take;       // holder, lease in ms, signs of life count: a row when it is held now
  pg::Statement show_life;  // holder
  pg::Statement release;    // holder
  pg::Statement backlog;    // most to count, lowest and highest id
  pg::Statement dead;       // most to count
  // queue, event (each '' for any), row and consumer to go on after, most to read
  pg::Statement list_dead;
  // queue, event, whether only these: rows bigint[], consumers text[]; at most. Answer rows and
  // consumers.
  pg::Statement count_dead;
  pg::Statement replay_dead;
  pg::Statement purge_dead;
};

// Lives as long as the process, as prepared statements need.
const OutboxSql& SqlOf(const std::string& schema);

// `text` with each "{schema}" replaced.
std::string WithSchema(std::string_view text, std::string_view schema);

}  // namespace winnow::events
