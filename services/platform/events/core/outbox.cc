#include "services/platform/events/core/outbox.h"

#include "services/platform/base/uuid.h"
#include "services/platform/events/core/consumer.h"
#include "services/platform/events/core/outbox_sql.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::events {
namespace {

constexpr std::string_view kDdl =
    R"sql(-- Events that were committed and not yet delivered, in order of id.
CREATE TABLE {schema}.outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event text NOT NULL,       -- full message name of the payload: the routing key
  envelope bytea NOT NULL,   -- winnow.events.v1.Envelope
  create_time timestamptz NOT NULL DEFAULT now()
);

-- Which process drains the outbox: the holder, until its lease ends.
CREATE TABLE {schema}.outbox_lease (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  holder uuid NOT NULL,
  renew_time timestamptz NOT NULL,
  expire_time timestamptz NOT NULL
);

-- Events that a consumer could not take, with the reason.
CREATE TABLE {schema}.dead_letters (
  outbox_id bigint NOT NULL,
  consumer text NOT NULL,    -- service that could not take it; '' when no reader knows the payload
  event text NOT NULL,
  envelope bytea NOT NULL,
  reason text NOT NULL,
  deliveries integer NOT NULL,
  create_time timestamptz NOT NULL,
  dead_time timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (outbox_id, consumer)
);
)sql";

}  // namespace

std::string OutboxDdl(const std::string& schema) { return WithSchema(kDdl, schema); }

void Append(pg::Session& session, const std::string& schema, std::span<const Envelope> envelopes) {
  if (envelopes.empty()) return;
  pg::BinaryArray events(pg::BinaryArray::kText);
  pg::BinaryArray bytes(pg::BinaryArray::kBytea);
  for (const Envelope& envelope : envelopes) {
    events.AddText(EventName(envelope));
    bytes.AddBytes(envelope.SerializeAsString());
  }
  session.Execute(SqlOf(schema).append, events, bytes);
}

Envelope NewEnvelope(Time now, const std::string& ns, const std::string& traceparent) {
  Envelope envelope;
  envelope.set_id(NewUuidV7(now));
  *envelope.mutable_occur_time() = ToTimestamp(now);
  envelope.set_namespace_(ns);
  envelope.set_traceparent(traceparent);
  return envelope;
}

}  // namespace winnow::events
