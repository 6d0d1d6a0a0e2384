#include "services/platform/postgres/server/account.h"

#include <pwd.h>

#include <array>

namespace winnow::pg {
namespace {

constexpr char kServerUser[] = "postgres";

Account FromEntry(const passwd& entry, bool drop) {
  return {entry.pw_uid, entry.pw_gid, entry.pw_name, entry.pw_dir, drop};
}

}  // namespace

StatusOr<Account> AccountFor(uid_t uid) {
  std::array<char, 16384> buffer;
  passwd entry{};
  passwd* found = nullptr;
  if (uid == 0) {
    getpwnam_r(kServerUser, &entry, buffer.data(), buffer.size(), &found);
    if (found != nullptr && found->pw_uid != 0) return FromEntry(*found, /*drop=*/true);
    return FailedPrecondition(
        "PostgreSQL refuses to run as root, and there is no user `postgres` to run it as: install "
        "the package postgresql-15, or start Winnow as a normal user");
  }
  getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return FromEntry(*found, /*drop=*/false);
  return FailedPrecondition(
      "user id " + std::to_string(uid) +
      " has no entry in the passwd database, and PostgreSQL does not start without one: add one, "
      "start Winnow as another user, or set a postgres:// URL");
}

}  // namespace winnow::pg
