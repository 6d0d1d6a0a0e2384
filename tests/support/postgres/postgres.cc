#include "tests/support/postgres/postgres.h"

#include <signal.h>

#include <chrono>
#include <filesystem>
#include <stdexcept>

#include "services/platform/postgres/pool/pool.h"
#include "services/platform/postgres/server/admin.h"
#include "services/platform/postgres/server/file_lock.h"
#include "tests/support/sync/eventually.h"

namespace winnow::test {
namespace {

namespace fs = std::filesystem;

constexpr char kDirPrefix[] = "winnow-postgres-";

void OrThrow(const Status& status) {
  if (!status.ok()) throw std::runtime_error(Message(status));
}

void Await(const char* what, const std::function<bool()>& condition) {
  if (!Eventually(condition)) throw std::runtime_error(std::string("no ") + what);
}

// Binaries that were killed could not remove theirs. Nobody holds the lock of such a one; the age
// spares a binary that has just made its directory.
void RemoveLeftovers() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/tmp", error)) {
    const std::string path = entry.path().string();
    if (!entry.path().filename().string().starts_with(kDirPrefix)) continue;
    const auto age = fs::file_time_type::clock::now() - entry.last_write_time(error);
    if (error || age < std::chrono::hours(1) || !fs::exists(path + "/pg.lock", error)) continue;
    const StatusOr<std::optional<Fd>> lock = pg::TryLock(path + "/pg.lock");
    if (lock.ok() && lock->has_value()) fs::remove_all(path, error);
  }
}

std::string DatabaseOf(const std::string& url) {
  const size_t end = std::min(url.find('?'), url.size());
  const size_t slash = url.rfind('/', end);
  return url.substr(slash + 1, end - slash - 1);
}

}  // namespace

Postgres& Postgres::Instance() {
  static Postgres instance;
  return instance;
}

Postgres::Postgres() {
  RemoveLeftovers();
  dir_ = std::make_unique<TempDir>("postgres");
  pg::PrivatePostgresOptions options;
  options.data_dir = dir_->path();
  options.durable = false;
  auto server = pg::PrivatePostgres::Start(options);
  OrThrow(server.status());
  server_ = *std::move(server);
}

Postgres::~Postgres() { static_cast<void>(server_->Stop(/*immediate=*/true)); }

std::string Postgres::CopyOf(const std::string& template_name) {
  const std::string name = "test_" + std::to_string(++databases_);
  Status created;
  // The template's last connections may still be closing: PostgreSQL refuses meanwhile.
  Await("copy of the template database", [&] {
    created = pg::CreateDatabase(server_->UrlOf("postgres"), name, template_name);
    return created.ok() || Message(created).find("being accessed") == std::string::npos;
  });
  OrThrow(created);
  return server_->UrlOf(name);
}

std::string Postgres::NewDatabase() {
  std::lock_guard lock(mutex_);
  return CopyOf("template1");
}

std::string Postgres::NewDatabase(const std::string& template_name,
                                  const std::function<void(const std::string& url)>& prepare) {
  std::lock_guard lock(mutex_);
  if (!templates_.contains(template_name)) {
    OrThrow(pg::CreateDatabase(server_->UrlOf("postgres"), template_name));
    prepare(server_->UrlOf(template_name));
    templates_.insert(template_name);
  }
  return CopyOf(template_name);
}

void Postgres::Administer(const std::string& sql) {
  Metrics metrics;
  pg::Pool pool({.name = "admin", .url = server_->UrlOf("postgres"), .connections = 1}, metrics);
  OrThrow(pool.Statements(std::chrono::steady_clock::now() + std::chrono::seconds(60),
                          [&](pg::Session& session) {
                            session.ExecuteText(sql);
                            return OkStatus();
                          }));
}

void Postgres::TakeAway(const std::string& url) {
  const std::string name = DatabaseOf(url);
  Administer("ALTER DATABASE " + name + " ALLOW_CONNECTIONS false");
  Administer("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name +
             "'");
}

void Postgres::BringBack(const std::string& url) {
  Administer("ALTER DATABASE " + DatabaseOf(url) + " ALLOW_CONNECTIONS true");
}

void Postgres::KillAndAwaitRestart() {
  const int before = server_->restarts();
  kill(server_->postmaster_pid(), SIGKILL);
  Await("restart of PostgreSQL",
        [&] { return server_->restarts() > before && server_->Check().ok(); });
}

}  // namespace winnow::test
