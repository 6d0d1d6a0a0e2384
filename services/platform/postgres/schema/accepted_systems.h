#pragma once

#include <string>

#include "services/platform/base/status.h"
#include "services/platform/postgres/schema/migrate.h"

// The record of the database systems that a database was accepted on (ADR 17).
namespace winnow::pg {

// Of schema `platform`, for every process whatever its targets. The first one records the system.
Migrations PlatformMigrations();

// Records that the database, restored or moved, belongs on the system it is on now: for
// `winnow migrate --accept-system`. Answers that system's identifier; empty where every host is on
// an accepted one. Errors: FAILED_PRECONDITION when the hosts are on several that are not accepted.
StatusOr<std::string> AcceptSystem(const std::string& url, const std::string& password);

}  // namespace winnow::pg
