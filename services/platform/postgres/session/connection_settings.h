#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "services/platform/base/status.h"

namespace winnow::pg {

struct ConnectionSettings {
  std::string conninfo;  // libpq keywords, with our timeouts where the URL sets none
  bool transaction_pooling = false;
};

// Reads a libpq URL or keyword string. `pooling=transaction` in it (a query parameter of a URL) is
// ours: there is a pooler in between that gives each transaction another server connection.
// The error never shows the URL, which may hold a password.
StatusOr<ConnectionSettings> ParseUrl(const std::string& url, const std::string& password,
                                      const std::string& application_name);

// One host of the URL.
struct HostSettings {
  std::string name;  // "db1:5432", for people and metrics
  ConnectionSettings settings;
};
inline constexpr size_t kMaxHosts = 16;

// The same for each host that the URL names, of which libpq would take the first that fits.
StatusOr<std::vector<HostSettings>> ParseHosts(const std::string& url, const std::string& password,
                                               const std::string& application_name);

}  // namespace winnow::pg
