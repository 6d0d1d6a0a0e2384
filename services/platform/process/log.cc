#include "services/platform/process/log.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "services/platform/base/clock.h"
#include "services/platform/base/format/json_reader.h"
#include "services/platform/base/timestamp.h"
#include "services/platform/process/log_writer.h"

namespace winnow::log {
namespace {

constexpr std::array<std::string_view, 4> kLevelNames = {"debug", "info", "warn", "error"};

std::atomic<Level> g_level{Level::kInfo};

template <typename Number>
void AppendNumber(Number value, std::string& out) {
  std::array<char, 32> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  out.append(buffer.data(), result.ptr);
}

struct ValueWriter {
  std::string& out;
  void operator()(const std::string& value) const { out += JsonQuoted(value); }
  void operator()(int64_t value) const { AppendNumber(value, out); }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(double value) const {
    if (std::isfinite(value)) {
      AppendNumber(value, out);
    } else {
      out += "null";  // JSON has no word for it
    }
  }
};

std::string Compose(Level level, std::string_view message, std::initializer_list<Field> fields) {
  std::string line;
  line.reserve(256);
  line.append("{\"time\":\"").append(FormatTime(SystemClock().Now()));
  line.append("\",\"level\":\"").append(kLevelNames[static_cast<size_t>(level)]);
  line.append("\",\"msg\":");
  line += JsonQuoted(message);
  for (const Field& field : fields) {
    line += ',';
    line += JsonQuoted(field.key);
    line += ':';
    std::visit(ValueWriter{line}, field.value);
  }
  line += "}\n";
  return line;
}

// One write() a line, so that lines of other processes on the same pipe do not cut in. A standard
// error that is closed or broken must not stop the server: there is nowhere left to say so.
void WriteLine(std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {  // another process that shares it made it non-blocking
      pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
      ::poll(&room, 1, -1);
      continue;
    }
    if (written <= 0) return;
    line.remove_prefix(static_cast<size_t>(written));
  }
}

// Of the process. Never destroyed: its thread may hang in a write() until the process is gone.
struct Sink {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> lines;
  size_t bytes = 0;            // of `lines`
  size_t dropped = 0;          // since the last report
  Counter* counter = nullptr;  // of all that were dropped
  bool threaded = false;       // lines go to the thread
  bool writing = false;        // the thread has one in hand
  std::thread writer;

  static Sink& Instance() {
    static auto* instance = new Sink();
    return *instance;
  }

  void Push(std::string line) {
    bytes += line.size();
    lines.push_back(std::move(line));
  }

  void TellDropped() {
    if (dropped == 0) return;
    Push(Compose(Level::kWarn, "log lines were dropped: standard error was not read",
                 {{"lines", dropped}}));
    dropped = 0;
  }

  void Put(std::string line) {
    const std::scoped_lock lock(mutex);
    if (!threaded) return WriteLine(line);
    // What was full takes lines again when it is half empty, so that few lines report a loss.
    const size_t room = dropped > 0 ? LogWriter::kMaxBytes / 2 : LogWriter::kMaxBytes;
    if (bytes + line.size() > room) {
      ++dropped;
      if (counter != nullptr) counter->Increment();
      return;
    }
    TellDropped();
    Push(std::move(line));
    changed.notify_all();
  }

  void WriteLoop() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return !threaded || !lines.empty(); });
      if (lines.empty()) return;
      const std::string line = std::move(lines.front());
      lines.pop_front();
      bytes -= line.size();
      writing = true;
      lock.unlock();
      WriteLine(line);
      lock.lock();
      writing = false;
      if (lines.empty()) TellDropped();
      changed.notify_all();
    }
  }

  bool AwaitWritten(std::unique_lock<std::mutex>& lock) {
    return changed.wait_for(lock, LogWriter::kFlushLimit,
                            [this] { return lines.empty() && !writing; });
  }
};

}  // namespace

StatusOr<Level> ParseLevel(std::string_view name) {
  for (size_t i = 0; i < kLevelNames.size(); ++i) {
    if (name == kLevelNames[i]) return static_cast<Level>(i);
  }
  return InvalidField("", "must be debug, info, warn or error, not \"" + std::string(name) + "\"");
}

void SetLevel(Level level) { g_level.store(level, std::memory_order_relaxed); }

bool Enabled(Level level) { return level >= g_level.load(std::memory_order_relaxed); }

void Write(Level level, std::string_view message, std::initializer_list<Field> fields) {
  if (!Enabled(level)) return;
  Sink::Instance().Put(Compose(level, message, fields));
}

LogWriter::LogWriter() {
  Sink& sink = Sink::Instance();
  const std::scoped_lock lock(sink.mutex);
  if (std::exchange(sink.threaded, true)) return;  // one that could not end goes on
  sink.writer = std::thread([&sink] { sink.WriteLoop(); });
}

LogWriter::~LogWriter() {
  Sink& sink = Sink::Instance();
  std::unique_lock lock(sink.mutex);
  if (!sink.AwaitWritten(lock)) return;
  sink.threaded = false;
  sink.changed.notify_all();
  lock.unlock();
  sink.writer.join();
}

bool LogWriter::Flush() {
  Sink& sink = Sink::Instance();
  std::unique_lock lock(sink.mutex);
  return sink.AwaitWritten(lock);
}

void CountDroppedIn(Counter* dropped) {
  Sink& sink = Sink::Instance();
  const std::scoped_lock lock(sink.mutex);
  sink.counter = dropped;
}

}  // namespace winnow::log
