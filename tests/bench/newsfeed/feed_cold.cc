// Ten thousand concurrent readers of one feed that is in nobody's memory, over three processes of
// the service on one PostgreSQL: how often each process reads the feed from the store, who served
// the pages, what readers waited; beside it the same readers once the feed is hot, twice (A/A).
//
//   bench_newsfeed_cold [READERS]
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "tests/bench/measure.h"
#include "tests/bench/newsfeed/feed_world.h"
#include "tests/bench/raw_load.h"

namespace winnow::bench {
namespace {

namespace v1 = newsfeed::v1;

constexpr int kReplicas = 3;
constexpr int kArticles = 5'000;
constexpr int kRounds = 5;
constexpr int kConnections = 100;

struct Sum {
  LoadResult load;
  double fills = 0;        // of the process that filled most often
  double store_pages = 0;  // pages that the store served
};

Sum Read(std::vector<std::unique_ptr<FeedProcess>>& processes, int readers) {
  std::vector<LoadResult> results(processes.size());
  std::vector<double> fills;
  std::vector<double> pages;
  constexpr char kFills[] = "winnow_newsfeed_memory_fills_total{result=\"ok\"}";
  constexpr char kPages[] = "winnow_newsfeed_pages_total{tier=\"store\"}";
  for (auto& process : processes) {
    fills.push_back(process->Metric(kFills));
    pages.push_back(process->Metric(kPages));
  }
  v1::ListArticlesRequest request;
  request.set_page_size(20);
  std::vector<std::thread> threads;
  const int share = readers / static_cast<int>(processes.size());
  for (size_t i = 0; i < processes.size(); ++i) {
    threads.emplace_back([&, i] {
      RawLoad load(ConnectTo(processes[i]->address(), kConnections), kListMethod,
                   request.SerializeAsString());
      results[i] = load.Run(share, share);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Sum sum;
  for (size_t i = 0; i < processes.size(); ++i) {
    const LoadResult& result = results[i];
    sum.load.answered += result.answered;
    sum.load.refused += result.refused;
    sum.load.failed += result.failed;
    if (!result.error.empty()) sum.load.error = result.error;
    sum.load.millis.insert(sum.load.millis.end(), result.millis.begin(), result.millis.end());
    sum.fills = std::max(sum.fills, processes[i]->Metric(kFills) - fills[i]);
    sum.store_pages += processes[i]->Metric(kPages) - pages[i];
  }
  return sum;
}

void Print(const char* name, const std::vector<Sum>& rounds) {
  std::vector<double> p50, p99, refused, pages;
  double fills = 0;
  int failed = 0;
  for (const Sum& sum : rounds) {
    p50.push_back(Quantile(sum.load.millis, 0.5));
    p99.push_back(Quantile(sum.load.millis, 0.99));
    refused.push_back(sum.load.refused);
    pages.push_back(sum.store_pages);
    fills = std::max(fills, sum.fills);
    failed += sum.load.failed;
    if (sum.load.failed > 0) std::printf("failed: %s\n", sum.load.error.c_str());
  }
  std::printf("%-24s %9.0f ms %9.0f ms %10.0f %10.0f %8d %18.0f\n", name, Median(p50), Median(p99),
              Median(pages), Median(refused), failed, fills);
}

int Main(int readers) {
  const std::string database = NewFeedDatabase();
  {
    FeedProcess writer(database);
    writer.Store(MakeArticles(kArticles));
  }
  std::vector<Sum> cold, hot, again;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::unique_ptr<FeedProcess>> processes;
    for (int i = 0; i < kReplicas; ++i) {
      processes.push_back(std::make_unique<FeedProcess>(database));
    }
    cold.push_back(Read(processes, readers));
    hot.push_back(Read(processes, readers));
    again.push_back(Read(processes, readers));
  }
  std::printf("%d readers at once, %d processes, medians of %d rounds; bar: at most 1 fill\n",
              readers, kReplicas, kRounds);
  std::printf("%-24s %12s %12s %10s %10s %8s %18s\n", "", "p50", "p99", "by store", "refused",
              "failed", "fills a process");
  Print("cold", cold);
  Print("hot", hot);
  Print("hot again (A/A)", again);
  return 0;
}

}  // namespace
}  // namespace winnow::bench

int main(int argc, char** argv) {
  try {
    return winnow::bench::Main(argc > 1 ? std::max(30, std::atoi(argv[1])) : 10'000);
  } catch (const std::exception& e) {
    std::cerr << "bench_newsfeed_cold: " << e.what() << "\n";
    return 1;
  }
}
