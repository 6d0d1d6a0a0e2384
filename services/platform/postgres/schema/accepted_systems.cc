#include "services/platform/postgres/schema/accepted_systems.h"

#include <optional>
#include <pqxx/except>
#include <pqxx/nontransaction>

#include "services/platform/postgres/primary/host_probe.h"
#include "services/platform/postgres/session/connection.h"
#include "services/platform/postgres/session/errors.h"
#include "services/platform/postgres/session/socket_limit.h"
#include "services/platform/process/log.h"

namespace winnow::embedded {
extern const std::span<const File> platform_migrations;
}

namespace winnow::pg {
namespace {

Status Record(const ConnectionSettings& settings, const std::string& system) {
  try {
    Connection connection(settings);
    const SocketLimit limit(connection.socket(), kSetupLimit);
    pqxx::nontransaction plain(connection.driver());
    plain.exec(
        "INSERT INTO platform.accepted_systems (system_identifier) "
        "SELECT system_identifier::text FROM pg_control_system()");
    log::Warn("the database is accepted on another system", {{"system", system}});
    return OkStatus();
  } catch (const std::exception& e) {
    log::Error("the system could not be recorded", {{"why", e.what()}});
    return Unavailable(Reason::kStoreUnavailable,
                       "the system could not be recorded in platform.accepted_systems: see the log",
                       kRetryAfter);
  }
}

}  // namespace

Migrations PlatformMigrations() { return {"platform", embedded::platform_migrations}; }

StatusOr<std::string> AcceptSystem(const std::string& url, const std::string& password) {
  WINNOW_ASSIGN_OR_RETURN(const auto hosts, ParseHosts(url, password, "winnow-migrate"));
  const ConnectionSettings* found = nullptr;
  std::string system;
  for (const HostSettings& host : hosts) {
    const std::optional<HostAnswer> answer = HostProbe(host.settings).Ask({});
    if (!answer || !answer->writable || answer->accepted.empty()) continue;
    if (answer->accepted.back() == answer->system || answer->system == system) continue;
    if (!system.empty()) {
      return FailedPrecondition(
          "hosts of postgres.url are on several systems that are not "
          "accepted: leave only those of one in the URL");
    }
    found = &host.settings;
    system = answer->system;
  }
  if (found != nullptr) WINNOW_RETURN_IF_ERROR(Record(*found, system));
  return system;
}

}  // namespace winnow::pg
