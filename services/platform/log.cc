#include "services/platform/log.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <mutex>

#include "services/platform/clock.h"
#include "services/platform/json_reader.h"
#include "services/platform/timestamp.h"

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

// One write() a line, so that lines of other processes on the same pipe do not cut in. A standard
// error that is closed or broken must not stop the server: there is nowhere left to say so.
void WriteLine(std::string_view line) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  while (!line.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    line.remove_prefix(static_cast<size_t>(written));
  }
}

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
  WriteLine(line);
}

}  // namespace winnow::log
