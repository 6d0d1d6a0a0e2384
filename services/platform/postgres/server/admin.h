#pragma once

#include <string>

#include "services/platform/base/status.h"

namespace winnow::pg {

// libpq URL of `database` on the server whose socket is in `socket_dir`. It leaves nothing to
// libpq's environment variables.
std::string SocketUrl(const std::string& socket_dir, const std::string& user,
                      const std::string& database);

enum class Ping { kAccepts, kStarting, kNoAnswer };
Ping PingServer(const std::string& url);

// Makes `name` unless it is there; `template_name` empty: the server's default. `url` is of a
// database to connect to meanwhile.
Status CreateDatabase(const std::string& url, const std::string& name,
                      const std::string& template_name = "");

}  // namespace winnow::pg
