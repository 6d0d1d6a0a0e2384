#include "services/platform/config/resource_defaults.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace winnow {
namespace {

using config::v1::Config;

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kMostCounted = int64_t{1} << 40;  // of an explicit setting

// Measured by tests/bench/README.md; rounded up.
constexpr int64_t kProcessBytes = 96 * kMiB;           // binary, threads, allocator caches
constexpr int64_t kDocumentBytes = 1'280;              // titles and leads at the lowest floors
constexpr int64_t kVectorBytes = 1'088;                // 1,024 dimensions and their bookkeeping
constexpr int64_t kArticleBytes = 1'536;               // encoded article, filters, places
constexpr int64_t kPrivatePostgresBytes = 128 * kMiB;  // shared_buffers=64MB and its processes
constexpr int64_t kPrivateConnectionBytes = 8 * kMiB;

// Memory that a target needs whatever its settings are: batches in work, parsed input.
constexpr std::array<std::pair<std::string_view, int64_t>, 5> kTargetBytes = {{
    {"collector", 96 * kMiB},  // fetched and parsed feeds
    {"dedup", 64 * kMiB},
    {"newsfeed", 64 * kMiB},         // 32 MiB of answered pages
    {"classification", 320 * kMiB},  // an import of 128 MiB, parsed
    {"polling", 32 * kMiB},
}};

// Of connections: one process of several that share a store takes fewer.
constexpr int kMinPoolSize = 4;  // also on one CPU a slow call must not stop the others
constexpr int kMaxConnectionsAlone = 16;
constexpr int kMaxConnectionsShared = 8;
constexpr int kMaxReadThreads = 32;
constexpr int kMaxWriteThreads = 16;

// Log transactions wait for each other's streams: a connection each, or a stalled PostgreSQL reads
// as a pool in full use. Dedup has four namespaces in work, their turns and an operator's change.
constexpr std::array<std::pair<std::string_view, int>, 5> kLogConnections = {
    {{"collector", 3}, {"dedup", 9}, {"newsfeed", 4}, {"classification", 2}, {"polling", 4}}};
constexpr int kMaxLogConnections = 12;

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  std::string out = text;
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  return out;
}

// "1 GiB", "1.5 GiB", "300 MiB"
std::string SizeText(int64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / static_cast<double>(kMiB);
  return mebibytes < 1024 ? Number(mebibytes) + " MiB" : Number(mebibytes / 1024) + " GiB";
}

// Without a limit of its own a process is not alone on the machine.
int64_t MemoryBudget(const MachineLimits& limits) {
  return limits.has_memory_limit ? limits.memory_bytes : limits.memory_bytes / 2;
}

std::string MemoryOrigin(const MachineLimits& limits) {
  if (limits.memory_bytes == 0) return "fixed default, as the machine's memory is unknown";
  if (limits.has_memory_limit) return "derived from memory limit " + SizeText(limits.memory_bytes);
  return "derived from half of the machine's memory, " + SizeText(limits.memory_bytes) +
         " (no memory limit)";
}

std::string CpuOrigin(const MachineLimits& limits) {
  const std::string cpus = Number(limits.cpus);
  return limits.has_cpu_quota ? "derived from CPU quota " + cpus
                              : "derived from " + cpus + " CPUs (no CPU quota)";
}

int64_t FixedBytes(const Config& config) {
  int64_t bytes = kProcessBytes;
  for (const auto& [target, own] : kTargetBytes) {
    if (RunsTarget(config, target)) bytes += own;
  }
  return bytes;
}

bool HasEmbedder(const Config& config) { return !config.dedup().embedder().url().empty(); }

bool HasPrivatePostgres(const Config& config) {
  return config.postgres().url() == "postgres-private:";
}

int64_t PrivatePostgresBytes(const Config& config) {
  if (!HasPrivatePostgres(config)) return 0;
  const int64_t connections = int64_t{config.postgres().read_connections()} +
                              config.postgres().write_connections() + LogConnections(config) +
                              kEventConnections;
  return kPrivatePostgresBytes + connections * kPrivateConnectionBytes;
}

int64_t DocumentBytes(const Config& config) {
  return kDocumentBytes + (HasEmbedder(config) ? kVectorBytes : 0);
}

// A feed keeps a quarter more articles before the oldest go.
int64_t FeedBytes(const Config& config) {
  return std::clamp(config.newsfeed().memory_articles(), 1, 1'000'000) * kArticleBytes * 5 / 4;
}

// Fills in what is left out and records it. Runs before the check of the configuration: explicit
// values may be anything.
class Filler {
 public:
  Filler(Config& config, const MachineLimits& limits) : config_(config), limits_(limits) {}

  std::vector<DerivedSetting> Run() {
    FillPools();
    if (config_.newsfeed().memory_articles() == 0) {
      config_.mutable_newsfeed()->set_memory_articles(1'000);
    }
    if (limits_.memory_bytes == 0) {
      rest_ = int64_t{1} << 50;  // every setting gets the most it may by default
    } else {
      const int64_t budget = MemoryBudget(limits_);
      rest_ = budget - budget / 5 - FixedBytes(config_) - PrivatePostgresBytes(config_);
    }
    FillBuffers();
    FillCaches();
    return std::move(derived_);
  }

 private:
  template <typename Value, typename Set>
  int64_t Fill(const char* field, Value value, int64_t by_default, const std::string& origin,
               Set set) {
    if (value != 0) return std::clamp<int64_t>(value, 0, kMostCounted);
    set(static_cast<Value>(by_default));
    derived_.push_back({field, std::to_string(by_default), origin});
    return by_default;
  }

  void FillPools() {
    const std::string origin = CpuOrigin(limits_);
    const int cpus = static_cast<int>(std::ceil(std::clamp(limits_.cpus, 1.0, 1'000.0)));
    const int twice = std::max(2 * cpus, kMinPoolSize);
    const bool alone = RunsAllTargets(config_);
    const int connections = std::min(twice, alone ? kMaxConnectionsAlone : kMaxConnectionsShared);
    auto& postgres = *config_.mutable_postgres();
    auto& calls = *config_.mutable_calls();
    Fill("postgres.read_connections", postgres.read_connections(), connections, origin,
         [&](int32_t value) { postgres.set_read_connections(value); });
    Fill("postgres.write_connections", postgres.write_connections(), connections, origin,
         [&](int32_t value) { postgres.set_write_connections(value); });
    Fill("calls.read_threads", calls.read_threads(), std::min(twice, kMaxReadThreads), origin,
         [&](int32_t value) { calls.set_read_threads(value); });
    Fill("calls.write_threads", calls.write_threads(),
         std::clamp(cpus, kMinPoolSize, kMaxWriteThreads), origin,
         [&](int32_t value) { calls.set_write_threads(value); });
  }

  // gRPC's buffers take up to a sixth of what is left, streams a twenty-fourth each way.
  void FillBuffers() {
    const std::string origin = MemoryOrigin(limits_);
    const int64_t left = std::max<int64_t>(rest_, 0);
    auto& calls = *config_.mutable_calls();
    rest_ -= Fill("calls.transport_memory_bytes", calls.transport_memory_bytes(),
                  std::clamp(left / 6, 128 * kMiB, 512 * kMiB), origin,
                  [&](int64_t value) { calls.set_transport_memory_bytes(value); });
    rest_ -= 2 * Fill("calls.stream_memory_bytes", calls.stream_memory_bytes(),
                      std::clamp(left / 24, 8 * kMiB, 128 * kMiB), origin,
                      [&](int64_t value) { calls.set_stream_memory_bytes(value); });
  }

  // The rest is for what is kept in memory: half for feeds where dedup runs beside them.
  void FillCaches() {
    const std::string origin = MemoryOrigin(limits_);
    const bool dedup = RunsTarget(config_, "dedup");
    const int64_t left = std::max<int64_t>(rest_, 0);
    if (HasEmbedder(config_)) {  // also one that only other processes use is checked
      auto& embedder = *config_.mutable_dedup()->mutable_embedder();
      const int64_t vectors =
          Fill("dedup.embedder.cached_vectors", embedder.cached_vectors(),
               std::clamp<int64_t>(left / 8 / kVectorBytes, 1'000, 100'000), origin,
               [&](int64_t value) { embedder.set_cached_vectors(value); });
      if (dedup) rest_ -= vectors * kVectorBytes;
    }
    auto& newsfeed = *config_.mutable_newsfeed();
    const int64_t feeds = std::max<int64_t>(rest_, 0) / (dedup ? 2 : 1) / FeedBytes(config_);
    const int64_t kept =
        Fill("newsfeed.memory_feeds", newsfeed.memory_feeds(), std::clamp<int64_t>(feeds, 8, 256),
             origin, [&](int32_t value) { newsfeed.set_memory_feeds(value); });
    if (RunsTarget(config_, "newsfeed")) {
      rest_ -= std::min<int64_t>(kept, 1'000'000) * FeedBytes(config_);
    }
    // Round numbers are read more easily.
    const int64_t documents = std::max<int64_t>(rest_, 0) / DocumentBytes(config_) / 1'000 * 1'000;
    Fill("dedup.max_documents", config_.dedup().max_documents(),
         std::clamp<int64_t>(documents, 10'000, 4'000'000), origin,
         [&](int64_t value) { config_.mutable_dedup()->set_max_documents(value); });
  }

  static bool RunsAllTargets(const Config& config) {
    return std::all_of(kTargetBytes.begin(), kTargetBytes.end(),
                       [&](const auto& each) { return RunsTarget(config, each.first); });
  }

  Config& config_;
  const MachineLimits limits_;
  int64_t rest_ = 0;
  std::vector<DerivedSetting> derived_;
};

}  // namespace

bool RunsTarget(const Config& config, std::string_view target) {
  return std::any_of(config.targets().begin(), config.targets().end(),
                     [&](const std::string& name) { return name == target || name == "all"; });
}

int LogConnections(const Config& config) {
  int connections = 0;
  for (const auto& [target, own] : kLogConnections) {
    if (RunsTarget(config, target)) connections += own;
  }
  return std::clamp(connections, 1, kMaxLogConnections);
}

std::vector<DerivedSetting> FillResourceDefaults(Config& config, const MachineLimits& limits) {
  return Filler(config, limits).Run();
}

std::vector<MemoryPart> EstimateMemory(const Config& config) {
  const auto& calls = config.calls();
  std::vector<MemoryPart> parts = {
      {"the process itself", FixedBytes(config)},
      {"calls.transport_memory_bytes", calls.transport_memory_bytes()},
      {"calls.stream_memory_bytes (ingest and watch)", 2 * calls.stream_memory_bytes()},
  };
  if (HasPrivatePostgres(config)) {
    parts.push_back({"the private PostgreSQL", PrivatePostgresBytes(config)});
  }
  if (RunsTarget(config, "dedup")) {
    parts.push_back(
        {"dedup.max_documents", config.dedup().max_documents() * DocumentBytes(config)});
    if (HasEmbedder(config)) {
      parts.push_back({"dedup.embedder.cached_vectors",
                       config.dedup().embedder().cached_vectors() * kVectorBytes});
    }
  }
  if (RunsTarget(config, "newsfeed")) {
    parts.push_back({"newsfeed.memory_feeds x newsfeed.memory_articles",
                     config.newsfeed().memory_feeds() * FeedBytes(config)});
  }
  return parts;
}

std::vector<std::string> ResourceWarnings(const Config& config, const MachineLimits& limits) {
  if (limits.memory_bytes == 0) return {};
  int64_t sum = 0;
  std::string list;
  std::vector<MemoryPart> parts = EstimateMemory(config);
  std::sort(parts.begin(), parts.end(), [](auto& a, auto& b) { return a.bytes > b.bytes; });
  for (const MemoryPart& part : parts) {
    sum += part.bytes;
    list += (list.empty() ? "" : ", ") + part.name + " " + SizeText(part.bytes);
  }
  if (sum <= limits.memory_bytes) return {};
  const char* kind = limits.has_memory_limit ? "the memory limit of " : "the machine's memory of ";
  return {"the configuration may need " + SizeText(sum) + ", more than " + kind +
          SizeText(limits.memory_bytes) + " (" + list +
          "): raise the limit, or lower a setting that is above its minimum"};
}

}  // namespace winnow
