#pragma once

#include <string>

#include "services/platform/base/status.h"
#include "services/platform/postgres/server/account.h"

namespace winnow::pg {

// Whether the account can pass every directory down to `path` (absolute, canonical), tried as that
// user in a child process. The error names the directory that stops it.
Status CheckAccountCanEnter(const std::string& path, const Account& account);

}  // namespace winnow::pg
