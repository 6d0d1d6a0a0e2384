#include "services/platform/postgres/server/log_keeper.h"

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <utility>

#include "services/platform/process/log.h"

namespace winnow::pg {
namespace {

namespace fs = std::filesystem;

void KeepSmall(const std::string& path, uintmax_t limit) {
  std::error_code error;
  const uintmax_t bytes = fs::file_size(path, error);
  if (error || bytes <= limit) return;
  fs::copy_file(path, path + ".1", fs::copy_options::overwrite_existing, error);
  // On a full disk the log is what must give way.
  if (error) log::Warn("the log of the private PostgreSQL is not kept", {{"path", path}});
  fs::resize_file(path, 0, error);
  if (error) log::Warn("the log of the private PostgreSQL cannot be cut", {{"path", path}});
}

}  // namespace

LogKeeper::LogKeeper(std::string path, uintmax_t limit, std::chrono::milliseconds interval)
    : thread_([path = std::move(path), limit, interval](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any ended;
        std::unique_lock lock(mutex);
        do {
          KeepSmall(path, limit);
        } while (!ended.wait_for(lock, stop, interval, [&] { return stop.stop_requested(); }));
      }) {}

}  // namespace winnow::pg
