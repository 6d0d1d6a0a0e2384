#include "services/platform/process/metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <list>
#include <mutex>
#include <utility>

#include "services/platform/process/process_metrics.h"

namespace winnow {
namespace {

class PrometheusCounter final : public Counter {
 public:
  explicit PrometheusCounter(prometheus::Counter& counter) : counter_(counter) {}
  void Increment(double by) override { counter_.Increment(by); }

 private:
  prometheus::Counter& counter_;
};

class PrometheusGauge final : public Gauge {
 public:
  explicit PrometheusGauge(prometheus::Gauge& gauge) : gauge_(gauge) {}
  void Set(double value) override { gauge_.Set(value); }

 private:
  prometheus::Gauge& gauge_;
};

class PrometheusHistogram final : public Histogram {
 public:
  explicit PrometheusHistogram(prometheus::Histogram& histogram) : histogram_(histogram) {}
  void Observe(double value) override { histogram_.Observe(value); }

 private:
  prometheus::Histogram& histogram_;
};

using Key = std::pair<std::string, Labels>;

template <typename Wrapper>
using Wrappers = std::map<Key, std::unique_ptr<Wrapper>>;

// Gauges that are read at each scrape. Reading holds the lock, so that a handle's destruction waits
// for a scrape that is calling its function.
struct ReadGauges {
  struct Entry {
    std::string name;
    std::string help;
    Labels labels;
    std::function<double()> read;
  };
  std::mutex mutex;
  std::list<Entry> entries;
};

prometheus::ClientMetric MakeGaugeSample(const Labels& labels, double value) {
  prometheus::ClientMetric sample;
  for (const auto& [name, label] : labels) sample.label.push_back({name, label});
  sample.gauge.value = value;
  return sample;
}

// One family per name; of several gauges with the same name and labels the newest counts, as when
// a part is replaced by its successor.
std::vector<prometheus::MetricFamily> CollectReadGauges(ReadGauges& gauges) {
  const std::scoped_lock lock(gauges.mutex);
  std::map<std::string, prometheus::MetricFamily> families;
  std::map<Key, const ReadGauges::Entry*> newest;
  for (const auto& entry : gauges.entries) newest[{entry.name, entry.labels}] = &entry;
  for (const auto& [key, entry] : newest) {
    auto& family = families[entry->name];
    family.name = entry->name;
    family.help = entry->help;
    family.type = prometheus::MetricType::Gauge;
    family.metric.push_back(MakeGaugeSample(entry->labels, entry->read()));
  }
  std::vector<prometheus::MetricFamily> out;
  for (auto& [name, family] : families) out.push_back(std::move(family));
  return out;
}

}  // namespace

struct Metrics::State {
  prometheus::Registry registry{prometheus::Registry::InsertBehavior::Merge};
  std::mutex mutex;  // guards the maps
  Wrappers<PrometheusCounter> counters;
  Wrappers<PrometheusGauge> gauges;
  Wrappers<PrometheusHistogram> histograms;
  // Shared with the handles, which may outlive the Metrics.
  std::shared_ptr<ReadGauges> read_gauges = std::make_shared<ReadGauges>();
};

// Everything a scrape shows.
class Metrics::Families final : public prometheus::Collectable {
 public:
  explicit Families(const State& state) : state_(state) {}
  std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<prometheus::MetricFamily> families = state_.registry.Collect();
    for (auto& family : CollectReadGauges(*state_.read_gauges)) {
      families.push_back(std::move(family));
    }
    for (auto& family : ProcessFamilies(ReadProcess("/proc"))) {
      families.push_back(std::move(family));
    }
    return families;
  }

 private:
  const State& state_;
};

Metrics::Metrics() : state_(std::make_unique<State>()) {}
Metrics::~Metrics() = default;

Counter& Metrics::GetCounter(const std::string& name, const std::string& help,
                             const Labels& labels) {
  const std::scoped_lock lock(state_->mutex);
  auto& wrapper = state_->counters[{name, labels}];
  if (!wrapper) {
    auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(state_->registry);
    wrapper = std::make_unique<PrometheusCounter>(family.Add(labels));
  }
  return *wrapper;
}

Gauge& Metrics::GetGauge(const std::string& name, const std::string& help, const Labels& labels) {
  const std::scoped_lock lock(state_->mutex);
  auto& wrapper = state_->gauges[{name, labels}];
  if (!wrapper) {
    auto& family = prometheus::BuildGauge().Name(name).Help(help).Register(state_->registry);
    wrapper = std::make_unique<PrometheusGauge>(family.Add(labels));
  }
  return *wrapper;
}

Histogram& Metrics::GetHistogram(const std::string& name, const std::string& help,
                                 const std::vector<double>& buckets, const Labels& labels) {
  const std::scoped_lock lock(state_->mutex);
  auto& wrapper = state_->histograms[{name, labels}];
  if (!wrapper) {
    auto& family = prometheus::BuildHistogram().Name(name).Help(help).Register(state_->registry);
    wrapper = std::make_unique<PrometheusHistogram>(family.Add(labels, buckets));
  }
  return *wrapper;
}

std::shared_ptr<void> Metrics::AddGauge(const std::string& name, const std::string& help,
                                        const Labels& labels, std::function<double()> read) {
  const std::shared_ptr<ReadGauges> gauges = state_->read_gauges;
  const std::scoped_lock lock(gauges->mutex);
  const auto entry =
      gauges->entries.insert(gauges->entries.end(), {name, help, labels, std::move(read)});
  return {&*entry, [gauges, entry](void*) {
            const std::scoped_lock erase_lock(gauges->mutex);
            gauges->entries.erase(entry);
          }};
}

std::shared_ptr<prometheus::Collectable> Metrics::Source() const {
  return std::make_shared<Families>(*state_);
}

std::string Metrics::Render() const {
  return prometheus::TextSerializer().Serialize(Source()->Collect());
}

const std::vector<double>& Metrics::LatencyBuckets() {
  static const std::vector<double> buckets = {.0001, .00025, .0005, .001, .0025, .005, .01, .025,
                                              .05,   .1,     .25,   .5,   1,     2.5,  5,   10};
  return buckets;
}

}  // namespace winnow
