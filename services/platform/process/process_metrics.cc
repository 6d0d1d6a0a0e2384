#include "services/platform/process/process_metrics.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>

namespace winnow {
namespace {

using std::filesystem::path;

constexpr size_t kMaxFileBytes = 64 << 10;     // of a file in /proc; each is far smaller
constexpr int64_t kMaxCountedFds = 1'048'576;  // Linux allows no more by default (fs.nr_open)

// Fields of /proc/self/stat after the name, which may hold anything: man 5 proc numbers from 1.
constexpr size_t kUserTime = 14 - 3;
constexpr size_t kSystemTime = 15 - 3;
constexpr size_t kThreads = 20 - 3;
constexpr size_t kStartTime = 22 - 3;
constexpr size_t kVirtualBytes = 23 - 3;
constexpr size_t kResidentPages = 24 - 3;

std::string ReadFile(const path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text(kMaxFileBytes, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return text;
}

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

std::optional<double> ToNumber(const std::vector<std::string>& words, size_t at) {
  if (at >= words.size()) return std::nullopt;
  std::istringstream in(words[at]);
  double number = 0;
  in >> number;
  return in.fail() || number < 0 ? std::nullopt : std::optional(number);
}

// The word after `name` at the start of a line.
std::optional<double> NumberOfLine(const std::string& text, const std::string& name) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(name)) return ToNumber(Words(line.substr(name.size())), 0);
  }
  return std::nullopt;
}

std::optional<int64_t> ToInteger(std::optional<double> number, double unit = 1) {
  if (!number) return std::nullopt;
  return static_cast<int64_t>(std::min(*number * unit, 9e18));
}

void ReadStat(const path& proc, ProcessSample& sample) {
  std::string stat = ReadFile(proc / "self/stat");
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return;
  const std::vector<std::string> fields = Words(stat.substr(name_end + 1));
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto user = ToNumber(fields, kUserTime);
  const auto system = ToNumber(fields, kSystemTime);
  if (user && system) sample.cpu_seconds = (*user + *system) / ticks;
  sample.threads = ToInteger(ToNumber(fields, kThreads));
  sample.virtual_bytes = ToInteger(ToNumber(fields, kVirtualBytes));
  const auto page_bytes = static_cast<double>(::sysconf(_SC_PAGESIZE));
  sample.resident_bytes = ToInteger(ToNumber(fields, kResidentPages), page_bytes);
  const auto started = ToNumber(fields, kStartTime);  // ticks since the boot
  const auto boot = NumberOfLine(ReadFile(proc / "stat"), "btime ");
  if (started && boot) sample.start_time_seconds = *boot + *started / ticks;
}

std::optional<int64_t> CountFds(const path& proc) {
  std::error_code error;
  std::filesystem::directory_iterator at(proc / "self/fd", error);
  int64_t count = 0;
  while (!error && at != std::filesystem::directory_iterator() && count < kMaxCountedFds) {
    ++count;
    at.increment(error);
  }
  if (error) return std::nullopt;
  return count;
}

prometheus::MetricFamily Family(const char* name, const char* help, prometheus::MetricType type,
                                double value) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  prometheus::ClientMetric metric;
  (type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  family.metric.push_back(std::move(metric));
  return family;
}

}  // namespace

ProcessSample ReadProcess(const path& proc) {
  ProcessSample sample;
  ReadStat(proc, sample);
  sample.open_fds = CountFds(proc);
  sample.max_fds = ToInteger(NumberOfLine(ReadFile(proc / "self/limits"), "Max open files"));
  return sample;
}

std::vector<prometheus::MetricFamily> ProcessFamilies(const ProcessSample& sample) {
  std::vector<prometheus::MetricFamily> families;
  const auto add = [&](const char* name, const char* help, auto value,
                       prometheus::MetricType type) {
    if (value) families.push_back(Family(name, help, type, static_cast<double>(*value)));
  };
  constexpr auto kCounter = prometheus::MetricType::Counter;
  constexpr auto kGauge = prometheus::MetricType::Gauge;
  add("process_cpu_seconds_total", "User and system CPU time.", sample.cpu_seconds, kCounter);
  add("process_start_time_seconds", "Start of the process since 1970.", sample.start_time_seconds,
      kGauge);
  add("process_resident_memory_bytes", "Resident memory.", sample.resident_bytes, kGauge);
  add("process_virtual_memory_bytes", "Virtual memory.", sample.virtual_bytes, kGauge);
  add("process_threads", "Threads.", sample.threads, kGauge);
  add("process_open_fds", "Open file descriptors.", sample.open_fds, kGauge);
  add("process_max_fds", "File descriptors that may be open.", sample.max_fds, kGauge);
  return families;
}

}  // namespace winnow
