#include "services/platform/postgres/server/private_postgres.h"

#include <unistd.h>

#include <cstdlib>

#include "services/platform/postgres/server/admin.h"
#include "services/platform/postgres/server/cluster.h"
#include "services/platform/postgres/server/data_dir.h"
#include "services/platform/postgres/server/log_keeper.h"
#include "services/platform/postgres/server/old_server.h"
#include "services/platform/postgres/server/supervisor.h"
#include "services/platform/process/log.h"

namespace winnow::pg {
namespace {

std::string Environment(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

// A list of one, in PostgreSQL's syntax for lists: the directory's name may hold a comma.
std::string QuotedListItem(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// On the command line, where they win over every file of the cluster.
std::vector<std::string> Settings(const std::string& socket_dir,
                                  const PrivatePostgresOptions& options) {
  const std::string on_if_durable = options.durable ? "on" : "off";
  return {"listen_addresses=", "port=5432", "unix_socket_directories=" + QuotedListItem(socket_dir),
          "unix_socket_permissions=0700", "fsync=" + on_if_durable,
          "full_page_writes=" + on_if_durable, "synchronous_commit=on",
          // /dev/shm is 64 MB in many containers.
          "dynamic_shared_memory_type=mmap", "shared_memory_type=mmap", "huge_pages=off",
          "max_connections=" + std::to_string(options.max_connections), "shared_buffers=64MB",
          "maintenance_work_mem=32MB", "max_wal_size=512MB", "timezone=UTC", "log_timezone=UTC",
          "restart_after_crash=on",
          // Its log never holds a statement, its parameters or the values of a violated key.
          "logging_collector=off", "log_destination=stderr", "log_min_messages=log",
          "log_min_error_statement=panic", "log_error_verbosity=terse", "log_checkpoints=off",
          "log_parameter_max_length=0", "log_parameter_max_length_on_error=0"};
}

Command PostmasterCommand(const Programs& programs, const Account& account,
                          const std::string& cluster_dir, std::vector<std::string> settings,
                          int lock_fd) {
  Command command = {{programs.Path("postgres"), "-D", cluster_dir}, account};
  for (std::string& setting : settings) {
    command.argv.emplace_back("-c");
    command.argv.push_back(std::move(setting));
  }
  command.keep_fd = lock_fd;
  command.own_session = true;
  return command;
}

}  // namespace

PrivatePostgres::PrivatePostgres() = default;

StatusOr<std::unique_ptr<PrivatePostgres>> PrivatePostgres::Start(
    const PrivatePostgresOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(const Account account, AccountFor(geteuid()));
  const std::string wanted_dir =
      !options.data_dir.empty() ? options.data_dir
                                : DefaultDataDir(account, getenv("XDG_DATA_HOME"), getenv("HOME"));
  auto self = std::unique_ptr<PrivatePostgres>(new PrivatePostgres());
  WINNOW_ASSIGN_OR_RETURN(self->data_dir_, PrepareDataDir(wanted_dir, account));
  const std::string& data_dir = self->data_dir_;
  const std::string cluster_dir = data_dir + "/pg";
  WINNOW_ASSIGN_OR_RETURN(DataDirLocks locks,
                          LockDataDir(data_dir, options.old_server_limit, options.stop));
  self->locks_ = std::make_unique<DataDirLocks>(std::move(locks));
  const int lock_fd = self->locks_->server.get();

  const ProgramSearch search = {options.versions_dir, options.path.value_or(Environment("PATH"))};
  WINNOW_ASSIGN_OR_RETURN(const std::optional<int> major, ClusterMajor(data_dir));
  WINNOW_ASSIGN_OR_RETURN(const Programs programs,
                          ChoosePrograms(FindPrograms(search, account), major, data_dir));
  if (!major) {
    WINNOW_RETURN_IF_ERROR(
        InitCluster(data_dir, programs, account, lock_fd, options.durable, options.stop));
  }
  WINNOW_RETURN_IF_ERROR(CheckNobodyBlocksTheStart(cluster_dir, account));

  WINNOW_ASSIGN_OR_RETURN(self->socket_dir_,
                          PrepareSocketDir(data_dir, account, getenv("XDG_RUNTIME_DIR")));
  self->url_ = self->UrlOf(kDatabase);
  const std::string log_path = data_dir + "/pg.log";
  self->log_keeper_ = std::make_unique<LogKeeper>(log_path, options.log_bytes);
  self->supervisor_ = std::make_unique<Supervisor>(
      Supervisor::Plan{.command = PostmasterCommand(programs, account, cluster_dir,
                                                    Settings(self->socket_dir_, options), lock_fd),
                       .ping_url = self->UrlOf("postgres") + "&connect_timeout=5",
                       .log_path = log_path});
  const std::stop_callback called_off(
      options.stop, [supervisor = self->supervisor_.get()] { supervisor->CancelStart(); });
  WINNOW_RETURN_IF_ERROR(self->supervisor_->Start());
  WINNOW_RETURN_IF_ERROR(CreateDatabase(self->UrlOf("postgres"), kDatabase));
  log::Info("private PostgreSQL runs", {{"version", programs.major},
                                        {"data_dir", data_dir},
                                        {"pid", int64_t{self->supervisor_->pid()}}});
  return self;
}

PrivatePostgres::~PrivatePostgres() {
  if (Status status = Stop(); !status.ok()) log::Error(Message(status));
}

std::string PrivatePostgres::UrlOf(const std::string& database) const {
  return SocketUrl(socket_dir_, kSuperuser, database);
}

Status PrivatePostgres::Check() const { return supervisor_->health(); }
int PrivatePostgres::restarts() const { return supervisor_->restarts(); }
pid_t PrivatePostgres::postmaster_pid() const { return supervisor_->pid(); }

Status PrivatePostgres::Stop(bool immediate, Deadline deadline) {
  if (!supervisor_) return OkStatus();
  using Mode = Supervisor::StopMode;
  Status stopped = supervisor_->Stop(immediate ? Mode::kImmediate : Mode::kFast, deadline);
  if (!socket_dir_.starts_with(data_dir_)) rmdir(socket_dir_.c_str());
  locks_.reset();  // the backends' own copies keep the directory locked while any is left
  return stopped;
}

}  // namespace winnow::pg
