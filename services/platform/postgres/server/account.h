#pragma once

#include <sys/types.h>

#include <string>

#include "services/platform/base/status.h"

namespace winnow::pg {

// The operating system user that PostgreSQL runs as.
struct Account {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;
  std::string home;
  bool drop = false;  // this process is root, and its children must become the account
};

// PostgreSQL refuses root and looks its own uid up in the passwd database. So root runs it as user
// `postgres`; any other user runs it as itself and needs a passwd entry.
StatusOr<Account> AccountFor(uid_t uid);

}  // namespace winnow::pg
