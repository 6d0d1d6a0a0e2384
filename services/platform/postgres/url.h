#pragma once

#include <string>

#include "services/platform/status.h"

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

}  // namespace winnow::pg
