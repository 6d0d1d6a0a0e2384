// What readers notice while Redis is away, and while the store is: hot pages all the time; an older
// page and a write as well where the store is there. Both away for SECONDS (600 is the target's ten
// minutes); before and after (A/A) for as long with everything there.
//
//   bench_newsfeed_away [SECONDS]
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>

#include "tests/bench/measure.h"
#include "tests/bench/newsfeed/feed_world.h"
#include "tests/bench/raw_load.h"
#include "tests/support/postgres/postgres.h"
#include "tests/support/redis/redis.h"
#include "tests/support/sync/eventually.h"

namespace winnow::bench {
namespace {

namespace v1 = newsfeed::v1;
using std::chrono::steady_clock;

constexpr int kArticles = 5'000;
constexpr int kDeepPages = 100;  // of 20: below what memory holds

struct Tally {
  int pages = 0;
  int flagged = 0;     // that say that the store is away
  int not_memory = 0;  // served by anything but memory
  int failed = 0;
  int deep_failed = 0;
  int writes_failed = 0;
  double until_flagged = 0;  // seconds before the first page said so
  std::vector<double> millis{};
};

class Reader {
 public:
  explicit Reader(FeedProcess& process) : process_(process) {}

  grpc::Status List(const std::string& token, v1::ListArticlesResponse& page) {
    v1::ListArticlesRequest request;
    request.set_page_size(20);
    request.set_page_token(token);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    return process_.stub().ListArticles(&context, request, &page);
  }

  // The token of a page far below the top.
  std::string DeepToken() {
    std::string token;
    for (int i = 0; i < kDeepPages; ++i) {
      v1::ListArticlesResponse page;
      if (!List(token, page).ok() || page.next_page_token().empty()) {
        throw std::runtime_error("the feed is too short");
      }
      token = page.next_page_token();
    }
    return token;
  }

  bool Write() {
    v1::BatchUpsertArticlesRequest request;
    *request.add_articles() = MakeArticles(1)[0];
    request.mutable_articles(0)->set_title("edit " + std::to_string(edits_++));
    v1::BatchUpsertArticlesResponse response;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    return process_.stub().BatchUpsertArticles(&context, request, &response).ok() &&
           response.results(0).has_upserted();
  }

  // Hot pages, one after the other; with `deep`, now and then that page, and a write.
  Tally Read(std::chrono::seconds time, const std::string& deep) {
    Tally tally;
    const auto begin = steady_clock::now();
    while (steady_clock::now() < begin + time) {
      v1::ListArticlesResponse page;
      const auto asked = steady_clock::now();
      const grpc::Status status = List("", page);
      tally.millis.push_back(Seconds(steady_clock::now() - asked) * 1e3);
      ++tally.pages;
      if (!status.ok()) {
        ++tally.failed;
        continue;
      }
      if (page.meta().tiers_size() != 1 || page.meta().tiers(0).tier() != v1::TIER_MEMORY) {
        ++tally.not_memory;
      }
      if (page.meta().degraded()) {
        if (tally.flagged++ == 0) tally.until_flagged = Seconds(steady_clock::now() - begin);
      }
      if (deep.empty() || tally.pages % 200 != 0) continue;
      if (!List(deep, page).ok()) ++tally.deep_failed;
      if (!Write()) ++tally.writes_failed;
    }
    return tally;
  }

 private:
  FeedProcess& process_;
  int edits_ = 0;
};

void Print(const char* name, const Tally& tally) {
  std::printf(
      "%-26s %8d pages, %d failed, %d not of memory, %d flagged (first after %.2f s); older "
      "pages failed %d, writes failed %d; p50 %.3f ms, p99 %.3f ms\n",
      name, tally.pages, tally.failed, tally.not_memory, tally.flagged, tally.until_flagged,
      tally.deep_failed, tally.writes_failed, Quantile(tally.millis, 0.5),
      Quantile(tally.millis, 0.99));
}

int Main(std::chrono::seconds time) {
  const std::string database = NewFeedDatabase();
  test::RedisServer redis;
  FeedProcess process(database, redis.url());
  process.Store(MakeArticles(kArticles));
  v1::ListArticlesRequest first;
  first.set_page_size(20);
  process.AwaitHotPage(first);
  Reader reader(process);
  const std::string deep = reader.DeepToken();
  v1::ListArticlesResponse before;
  reader.List(deep, before);

  Print("all there", reader.Read(time, deep));
  redis.Kill();
  Print("Redis away", reader.Read(time, deep));
  redis.Start();
  Print("all there again (A/A)", reader.Read(time, deep));

  test::Postgres::Instance().TakeAway(database);
  const Tally away = reader.Read(time, "");
  v1::ListArticlesResponse page;
  const grpc::Status refused = reader.List(deep, page);
  test::Postgres::Instance().BringBack(database);
  Print("store away", away);
  std::printf("an older page meanwhile: %s\n",
              refused.error_code() == grpc::StatusCode::UNAVAILABLE ? "UNAVAILABLE" : "WRONG");
  const auto back = steady_clock::now();
  v1::ListArticlesResponse after;
  const bool good = test::Eventually([&] { return reader.List(deep, after).ok(); });
  bool same = good && before.articles_size() == after.articles_size();
  for (int i = 0; same && i < before.articles_size(); ++i) {
    same = before.articles(i).id() == after.articles(i).id();
  }
  std::printf("its token afterwards: %s, %.2f s after the store was back\n",
              same ? "the same page" : "WRONG", Seconds(steady_clock::now() - back));
  std::printf("bar: hot pages 100 %% of memory and flagged, tokens good later; Redis: nothing\n");
  return same && away.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace winnow::bench

int main(int argc, char** argv) {
  try {
    const int seconds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
    return winnow::bench::Main(std::chrono::seconds(seconds));
  } catch (const std::exception& e) {
    std::cerr << "bench_newsfeed_away: " << e.what() << "\n";
    return 1;
  }
}
