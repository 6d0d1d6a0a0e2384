#pragma once

#include <optional>
#include <string>

#include "services/platform/base/status.h"
#include "services/platform/postgres/server/account.h"
#include "services/platform/process/fd.h"

namespace winnow::pg {

// The default data directory: /var/lib/winnow for root; else $XDG_DATA_HOME/winnow, or
// ~/.local/share/winnow. The values of XDG_DATA_HOME and HOME may be null; relative ones are
// ignored, as the XDG specification asks.
std::string DefaultDataDir(const Account& account, const char* xdg_data_home, const char* home);

// Makes `path` with its parents, whatever the umask, and answers its canonical name. The error
// names the directory that cannot be made, written or, by the account, entered.
StatusOr<std::string> PrepareDataDir(const std::string& path, const Account& account);

// A directory for the server's socket that the account alone can enter: `data_dir`/run, or, when
// the socket's path would be longer than the 107 bytes that the kernel takes (or would hold a
// comma, which libpq cannot), one under `runtime_dir` (XDG_RUNTIME_DIR; may be null) or /tmp whose
// name follows from data_dir.
StatusOr<std::string> PrepareSocketDir(const std::string& data_dir, const Account& account,
                                       const char* runtime_dir);

// Makes `path`, owned by the account, mode 0700; one that is there must be so already.
Status MakePrivateDir(const std::string& path, const Account& account);

// Makes what was done in the directory durable.
Status SyncDir(const std::string& path);

}  // namespace winnow::pg
