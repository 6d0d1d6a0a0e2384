#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

// Prometheus metrics by prometheus-cpp, which stays behind this header. Names are
// winnow_<part>_<what>_<unit>[_total]; labels are from closed sets, never text or ids.
namespace prometheus {
class Collectable;
}

namespace winnow {

using Labels = std::map<std::string, std::string>;

class Counter {
 public:
  virtual ~Counter() = default;
  virtual void Increment(double by = 1) = 0;
};

class Gauge {
 public:
  virtual ~Gauge() = default;
  virtual void Set(double value) = 0;
};

class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void Observe(double value) = 0;
};

class Metrics {
 public:
  Metrics();
  ~Metrics();
  // References live as long as the Metrics. The same name and labels give the same metric.
  Counter& GetCounter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge& GetGauge(const std::string& name, const std::string& help, const Labels& labels = {});
  Histogram& GetHistogram(const std::string& name, const std::string& help,
                          const std::vector<double>& buckets, const Labels& labels = {});
  // `read` is called at each scrape, from another thread, until the returned handle is destroyed.
  [[nodiscard]] std::shared_ptr<void> AddGauge(const std::string& name, const std::string& help,
                                               const Labels& labels, std::function<double()> read);
  // What a scrape shows now.
  std::string Render() const;
  // The same for the HTTP exposer (grpc/server/metrics_http.h). The Metrics outlive it.
  std::shared_ptr<prometheus::Collectable> Source() const;

  // Seconds, from 100 us to 10 s: for every latency histogram.
  static const std::vector<double>& LatencyBuckets();

 private:
  struct State;
  class Families;
  std::unique_ptr<State> state_;
};

}  // namespace winnow
