// private_postgres_holder DATA_DIR hold|once: a Winnow in little, for tests to kill. `hold` starts
// a private PostgreSQL, prints "ready <postmaster pid>" and waits to be killed; `once` stops it
// again and exits with 0 when all went well.
#include <unistd.h>

#include <cstring>
#include <iostream>

#include "services/platform/postgres/server/admin.h"
#include "services/platform/postgres/server/private_postgres.h"

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  winnow::pg::PrivatePostgresOptions options;
  options.data_dir = argv[1];
  options.durable = false;
  auto postgres = winnow::pg::PrivatePostgres::Start(options);
  if (!postgres.ok()) {
    std::cout << "failed " << postgres.status().message() << std::endl;
    return 1;
  }
  std::cout << "ready " << (*postgres)->postmaster_pid() << std::endl;
  while (strcmp(argv[2], "hold") == 0) pause();
  const auto made = winnow::pg::CreateDatabase((*postgres)->connection_url(), "made_by_holder");
  const auto stopped = (*postgres)->Stop();
  std::cout << made.message() << stopped.message() << std::endl;
  return made.ok() && stopped.ok() ? 0 : 1;
}
