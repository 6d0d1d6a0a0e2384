#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "tests/integration/newsfeed_fixture.h"

namespace winnow::newsfeed {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr int kArticles = 4000;
constexpr int kLater = 600;

// How many articles of a real day share a publish time, in its mix: most stand alone, many on a
// whole minute with others, some in crowds on the hour.
std::vector<int> TieSizes() {
  std::mt19937 random(7);
  std::vector<int> sizes;
  for (int total = 0; total < kArticles; total += sizes.back()) {
    const size_t dice = random() % 1000;
    sizes.push_back(dice < 715   ? 1
                    : dice < 850 ? 2
                    : dice < 950 ? static_cast<int>(3 + random() % 5)
                    : dice < 998 ? static_cast<int>(8 + random() % 20)
                                 : static_cast<int>(40 + random() % 36));
  }
  return sizes;
}

// Thousands of articles are scrolled while others write, edit, move and delete.
class LongScroll : public NewsFeedTest {
 protected:
  void SetUp() override {
    Create("tech");
    Create("ai", "tech");
    Create("chips", "tech");
    int n = 0;
    Time time = clock_.Now();
    std::vector<v1::Article> batch;
    for (const int size : TieSizes()) {
      time -= minutes(1);
      for (int i = 0; i < size && n < kArticles; ++i, ++n) batch.push_back(Article(n, time));
    }
    // In no order of time, as archives arrive.
    std::shuffle(batch.begin(), batch.end(), std::mt19937(8));
    for (size_t begin = 0; begin < batch.size(); begin += 1000) {
      Upsert({batch.begin() + static_cast<long>(begin),
              batch.begin() + static_cast<long>(std::min(begin + 1000, batch.size()))});
    }
  }

  v1::Article Article(int n, Time time) {
    v1::Article article = Make("n" + std::to_string(n));
    *article.mutable_publish_time() = ToTimestamp(time);
    article.add_categories()->set_category_id(n % 2 == 0 ? "ai" : "chips");
    times_[n] = time;
    return article;
  }

  // What is written while the scroll goes on: new articles anywhere in the feed, edits, moves
  // within the subtree, deletions.
  void Disturb() {
    std::mt19937 random(9);
    for (int i = 0; i < kLater; ++i) {
      const int n = static_cast<int>(random() % kArticles);
      if (i % 6 == 5) {
        EXPECT_TRUE(Delete("n" + std::to_string(n)).ok());
        const std::lock_guard lock(mutex_);
        deleted_.insert("n" + std::to_string(n));
      } else if (i % 3 == 1) {
        v1::Article edit = Article(n, times_.at(n));
        edit.set_title("Edited " + std::to_string(i));
        edit.mutable_categories(0)->set_category_id(i % 2 == 0 ? "chips" : "ai");
        Upsert({edit});
      } else {
        v1::Article later = Make("later" + std::to_string(i));
        *later.mutable_publish_time() = ToTimestamp(times_.at(n) + seconds(random() % 2 * 30));
        later.add_categories()->set_category_id("ai");
        Upsert({later});
      }
      ++disturbed_;
    }
  }

  std::map<int, Time> times_;
  std::mutex mutex_;
  std::set<std::string> deleted_;
  std::atomic<int> disturbed_ = 0;
};

TEST_F(LongScroll, SeesEachArticleOnceWhileOthersWrite) {
  std::vector<std::string> seen;
  v1::ListArticlesResponse page = List(Feed("tech", 25));
  const std::string newer_token = page.newer_token();
  std::thread writer([this] { Disturb(); });
  Time last = Time::max();
  std::string last_id;
  while (true) {
    for (const v1::Article& article : page.articles()) {
      const Time time = *FromTimestamp(article.publish_time());
      EXPECT_TRUE(time < last || (time == last && article.id() < last_id)) << article.id();
      last = time;
      last_id = article.id();
      seen.push_back(article.id());
    }
    if (page.next_page_token().empty() || HasFailure()) break;
    EXPECT_EQ(page.articles_size(), 25) << "a page was shortened";
    page = List(Feed("tech", 25, page.next_page_token()));
  }
  writer.join();
  EXPECT_EQ(disturbed_, kLater);

  const std::set<std::string> once(seen.begin(), seen.end());
  EXPECT_EQ(once.size(), seen.size()) << "repeated";
  for (int n = 0; n < kArticles; ++n) {
    const std::string id = "n" + std::to_string(n);
    EXPECT_TRUE(once.contains(id) || deleted_.contains(id)) << "skipped " << id;
  }
  for (const std::string& id : once) EXPECT_EQ(id[0], 'n') << "came later: " << id;

  const std::vector<std::string> newer = Scroll(Feed("tech", 25, newer_token));
  EXPECT_EQ(newer.size(), static_cast<size_t>(kLater / 2));
  for (const std::string& id : newer) EXPECT_EQ(id.substr(0, 5), "later");
}

// The public implementation's cursor on the same data: what it loses, so that the test above is
// known to be able to tell.
TEST_F(LongScroll, ByMillisecondsAloneWouldLoseArticles) {
  const int64_t ties = Count(
      "SELECT count(*) FROM (SELECT 1 FROM newsfeed.news_articles GROUP BY published_at "
      "HAVING count(*) > 1) t");
  EXPECT_GT(ties, 100);
  std::vector<Time> times;
  for (const auto& [n, time] : times_) times.push_back(time);
  std::sort(times.begin(), times.end(), std::greater<>());
  size_t seen = 0;
  for (size_t at = 0; at < times.size();) {
    const size_t end = std::min(at + 10, times.size());
    seen += end - at;
    const Time edge = times[end - 1];
    at = end;
    while (at < times.size() && times[at] == edge) ++at;  // max = cursor - 1
  }
  EXPECT_LT(static_cast<double>(seen), 0.96 * kArticles);
}

}  // namespace
}  // namespace winnow::newsfeed
