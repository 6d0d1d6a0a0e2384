#pragma once

#include <span>
#include <string>

#include "services/platform/base/clock.h"
#include "services/platform/postgres/session/session.h"
#include "winnow/events/v1/events.pb.h"

// Events are written in the transaction of the change that they report, and delivered afterwards.
namespace winnow::events {

// DDL of <schema>.outbox, outbox_lease and dead_letters for a schema's migration.
std::string OutboxDdl(const std::string& schema);

// Inserts the events, in order, by one statement. Nothing to do for none.
void Append(pg::Session& session, const std::string& schema,
            std::span<const ::winnow::events::v1::Envelope> envelopes);

// An envelope of `ns` with a fresh id; the caller sets the payload.
::winnow::events::v1::Envelope NewEnvelope(Time now, const std::string& ns,
                                           const std::string& traceparent);

}  // namespace winnow::events
