#include "services/platform/process/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace winnow {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Metrics, TheSameNameAndLabelsGiveTheSameMetric) {
  Metrics metrics;
  Counter& a = metrics.GetCounter("winnow_t_total", "h", {{"target", "dedup"}});
  Counter& b = metrics.GetCounter("winnow_t_total", "h", {{"target", "dedup"}});
  Counter& c = metrics.GetCounter("winnow_t_total", "h", {{"target", "newsfeed"}});
  EXPECT_EQ(&a, &b);
  EXPECT_NE(&a, &c);
  a.Increment();
  b.Increment(2);
  const std::string page = metrics.Render();
  EXPECT_THAT(page, HasSubstr("winnow_t_total{target=\"dedup\"} 3"));
  EXPECT_THAT(page, HasSubstr("winnow_t_total{target=\"newsfeed\"} 0"));
  EXPECT_EQ(Count(page, "# TYPE winnow_t_total counter"), 1u);
}

TEST(Metrics, GaugesAndHistogramsAreRendered) {
  Metrics metrics;
  metrics.GetGauge("winnow_depth", "h").Set(7);
  Histogram& histogram = metrics.GetHistogram("winnow_seconds", "h", {0.1, 1});
  histogram.Observe(0.5);
  const std::string page = metrics.Render();
  EXPECT_THAT(page, HasSubstr("winnow_depth 7"));
  EXPECT_THAT(page, HasSubstr("winnow_seconds_bucket{le=\"0.1\"} 0"));
  EXPECT_THAT(page, HasSubstr("winnow_seconds_bucket{le=\"1\"} 1"));
  EXPECT_THAT(page, HasSubstr("winnow_seconds_count 1"));
}

TEST(Metrics, ReadGaugesAreReadAtEachScrapeUntilTheirHandleGoes) {
  Metrics metrics;
  double value = 1;
  auto handle = metrics.AddGauge("winnow_rows", "h", {}, [&] { return value; });
  EXPECT_THAT(metrics.Render(), HasSubstr("winnow_rows 1"));
  value = 2;
  EXPECT_THAT(metrics.Render(), HasSubstr("winnow_rows 2"));
  handle.reset();
  EXPECT_THAT(metrics.Render(), Not(HasSubstr("winnow_rows")));
}

TEST(Metrics, ReadGaugesOfOneNameAreOneFamily) {
  Metrics metrics;
  const auto a = metrics.AddGauge("winnow_rows", "h", {{"pool", "a"}}, [] { return 1.0; });
  const auto b = metrics.AddGauge("winnow_rows", "h", {{"pool", "b"}}, [] { return 2.0; });
  const std::string page = metrics.Render();
  EXPECT_EQ(Count(page, "# TYPE winnow_rows gauge"), 1u);
  EXPECT_THAT(page, HasSubstr("winnow_rows{pool=\"a\"} 1"));
  EXPECT_THAT(page, HasSubstr("winnow_rows{pool=\"b\"} 2"));
}

TEST(Metrics, OfReadGaugesWithTheSameLabelsTheNewestIsShownOnce) {
  Metrics metrics;
  const auto old = metrics.AddGauge("winnow_rows", "h", {}, [] { return 1.0; });
  auto successor = metrics.AddGauge("winnow_rows", "h", {}, [] { return 2.0; });
  EXPECT_EQ(Count(metrics.Render(), "winnow_rows 2"), 1u);
  successor.reset();
  EXPECT_EQ(Count(metrics.Render(), "winnow_rows 1"), 1u);
}

TEST(Metrics, AHandleMayOutliveTheMetrics) {
  std::shared_ptr<void> handle;
  {
    Metrics metrics;
    handle = metrics.AddGauge("winnow_rows", "h", {}, [] { return 1.0; });
  }
  handle.reset();
}

TEST(Metrics, AReadNeverRunsAfterItsHandleIsGone) {
  Metrics metrics;
  std::atomic<bool> stop{false};
  std::jthread scraper([&] {
    while (!stop) metrics.Render();
  });
  for (int i = 0; i < 2'000; ++i) {
    auto alive = std::make_unique<std::atomic<bool>>(true);
    auto handle = metrics.AddGauge("winnow_rows", "h", {}, [&alive = *alive] {
      EXPECT_TRUE(alive);
      return 1.0;
    });
    handle.reset();
    *alive = false;
  }
  stop = true;
}

TEST(Metrics, LatencyBucketsRise) {
  const auto& buckets = Metrics::LatencyBuckets();
  EXPECT_TRUE(std::is_sorted(buckets.begin(), buckets.end()));
  EXPECT_EQ(buckets.front(), 0.0001);
  EXPECT_EQ(buckets.back(), 10);
}

}  // namespace
}  // namespace winnow
