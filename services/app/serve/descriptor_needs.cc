#include "services/app/serve/descriptor_needs.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "services/platform/config/resource_defaults.h"

namespace winnow::app {
namespace {

// Standard streams, log, event and epoll descriptors of gRPC and of the accept loop, files that are
// read at start, the self-check; and the shared libraries and catalogues that are opened on demand.
constexpr size_t kProcess = 32;
// One listening socket each for IPv4 and IPv6, of the gRPC and the metrics port; the threads of the
// metrics port with a connection each, and those that wait for one.
constexpr size_t kListening = 4;
constexpr size_t kMetricsConnections = 16;
constexpr size_t kPrivatePostgres = 8;  // locks, pipes and the log of its supervisor
// Connections beside the pools: those that wait for notifications, and one to each host of the URL,
// with one more while it is asked anew.
constexpr size_t kListeners = 16;
constexpr size_t kBroker = 8;       // publisher, subscribers, their sockets' event descriptors
constexpr size_t kPerPeer = 16;     // addresses of a peer's name, and their lookups
constexpr size_t kPerTransfer = 3;  // a fetch: its socket, libcurl's pair to wake it
// Pictures that a run fetches at once (collector/runs/image_client.h). Runs seldom do so at the
// same time, and a picture that cannot be fetched is looked for again.
constexpr size_t kPictures = 10;
constexpr size_t kEmbedderTransfers = 16;
// Fewer connections than these would be refused in normal use.
constexpr size_t kMinConnections = 32;
constexpr size_t kMaxConnections = 10'000;

size_t Count(int32_t value) { return static_cast<size_t>(std::max(value, 0)); }

size_t Transfers(const config::v1::Config& config) {
  size_t transfers = 0;
  if (RunsTarget(config, "collector") && !config.collector().no_schedule()) {
    transfers += Count(config.collector().run_threads()) + kPictures;
  }
  if (RunsTarget(config, "dedup") && !config.dedup().embedder().url().empty()) {
    transfers += kEmbedderTransfers;
  }
  if (RunsTarget(config, "classification") && !config.classification().llm().url().empty()) {
    transfers += Count(config.classification().llm().concurrency());
  }
  return transfers;
}

size_t Sum(const std::vector<DescriptorNeed>& needs) {
  return std::accumulate(needs.begin(), needs.end(), size_t{0},
                         [](size_t sum, const DescriptorNeed& need) { return sum + need.count; });
}

std::string Describe(const std::vector<DescriptorNeed>& needs) {
  std::string text;
  for (const DescriptorNeed& need : needs) {
    text += (text.empty() ? "" : ", ") + std::to_string(need.count) + " for " + need.what;
  }
  return text;
}

}  // namespace

std::vector<DescriptorNeed> DescriptorNeeds(const config::v1::Config& config) {
  const auto& postgres = config.postgres();
  std::vector<DescriptorNeed> needs = {{"the process", kProcess}};
  needs.push_back(
      {"PostgreSQL", Count(postgres.read_connections()) + Count(postgres.write_connections()) +
                         Count(LogConnections(config)) + kEventConnections + kListeners});
  if (postgres.url().starts_with("postgres-private:")) {
    needs.push_back({"the private PostgreSQL's supervisor", kPrivatePostgres});
  }
  needs.push_back({"listening and metrics", kListening + kMetricsConnections});
  if (!config.redis().url().empty())
    needs.push_back({"Redis", Count(config.redis().connections())});
  if (config.events().url() != "inprocess:") needs.push_back({"the broker", kBroker});
  size_t peers = 0;
  for (const std::string* peer :
       {&config.peers().collector(), &config.peers().dedup(), &config.peers().newsfeed()}) {
    if (!peer->empty()) peers += kPerPeer;
  }
  if (peers > 0) needs.push_back({"peers", peers});
  if (const size_t transfers = Transfers(config); transfers > 0) {
    needs.push_back({"HTTP requests", transfers * kPerTransfer});
  }
  return needs;
}

StatusOr<rpc::ConnectionLimits> ConnectionLimitsOf(const config::v1::Config& config,
                                                   size_t descriptors) {
  const std::vector<DescriptorNeed> needs = DescriptorNeeds(config);
  const size_t set = Count(config.calls().max_connections());
  const size_t connections = set > 0 ? set : kMinConnections;
  const size_t minimum = Sum(needs) + connections;
  if (descriptors < minimum) {
    return FailedPrecondition(
        "the limit on open files is " + std::to_string(descriptors) +
        ", this configuration needs " + std::to_string(minimum) + " (" + Describe(needs) + ", " +
        std::to_string(connections) +
        " for connections of callers): raise the hard limit (ulimit -n, LimitNOFILE= of systemd, "
        "the container's ulimits)" +
        (set > 0 ? ", or lower calls.max_connections" : ""));
  }
  rpc::ConnectionLimits limits;
  limits.total = set > 0 ? set : std::min(descriptors - Sum(needs), kMaxConnections);
  const size_t per_address = Count(config.calls().max_connections_per_address());
  limits.per_address = per_address > 0 ? per_address : std::max<size_t>(1, limits.total / 2);
  return limits;
}

}  // namespace winnow::app
