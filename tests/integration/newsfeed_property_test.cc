#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "services/newsfeed/convert.h"
#include "services/newsfeed/feeds.h"
#include "tests/integration/newsfeed_fixture.h"

namespace winnow::newsfeed {
namespace {

using std::chrono::milliseconds;

// What a feed holds, told without SQL: for each article its key, and the step at which it entered.
struct ModelEntry {
  int64_t step = 0;
  std::string source;
  std::string language;
  bool has_image = false;
};
using ModelFeed = std::map<FeedKey, ModelEntry, std::greater<>>;

// A scroll that is under way, as its reader knows it and as the model does.
struct OpenScroll {
  FeedQuery query;
  int64_t since = 0;  // steps
  int64_t until = 0;
};

bool Matches(const FeedFilter& filter, const FeedKey& key, const ModelEntry& entry) {
  const auto among = [](const std::vector<std::string>& set, const std::string& value) {
    return set.empty() || std::find(set.begin(), set.end(), value) != set.end();
  };
  const Time time(key.publish_time);
  return among(filter.sources, entry.source) && among(filter.languages, entry.language) &&
         filter.has_image.value_or(entry.has_image) == entry.has_image &&
         time >= filter.publish_time_from.value_or(time) &&
         (!filter.publish_time_until || time < *filter.publish_time_until);
}

// Random upserts, edits, moves, merges, deletions and scrolls, page by page in any order, against
// the model. One step of it is one transaction.
class FeedProperty : public NewsFeedTest {
 protected:
  void SetUp() override {
    Create("tech");
    Create("ai", "tech");
    Create("chips", "tech");
    Create("energy");
    paths_ = {{"tech", {"tech"}},
              {"ai", {"tech", "ai"}},
              {"chips", {"tech", "chips"}},
              {"energy", {"energy"}}};
  }

  size_t Pick(size_t count) { return random_() % count; }
  template <class T>
  const T& Pick(const std::vector<T>& from) {
    return from[Pick(from.size())];
  }

  v1::Article RandomArticle(const std::string& id) {
    v1::Article article = Make(id, milliseconds(Pick(25)));
    article.set_url("https://news.example/" + std::to_string(Pick(400)));
    article.set_title(Pick<std::string>({"One", "Two", "Three..."}));
    article.set_source(Pick<std::string>({"s1", "s2", "s3"}));
    article.set_language(Pick<std::string>({"ko", "en", ""}));
    if (Pick(3) == 0) article.set_thumbnail_url("https://img.example/1");
    for (const char* category : {"tech", "ai", "chips", "energy"}) {
      if (Pick(4) == 0) article.add_categories()->set_category_id(category);
    }
    return article;
  }

  // Brings the model to what the store made of an article.
  void Learn(const std::string& id) {
    const StatusOr<StoredArticle> stored = store_.Get(Soon(), "default", id);
    std::set<std::string> feeds;
    FeedKey key;
    ModelEntry entry{.step = step_, .source = {}, .language = {}, .has_image = false};
    if (stored.ok()) {
      ASSERT_EQ(stored->content.id, id);
      for (std::string& feed : FeedsOf(*stored, paths_)) feeds.insert(std::move(feed));
      key = {stored->publish_time, id};
      const auto [known, is_new] = keys_.emplace(id, key);
      ASSERT_EQ(known->second, key) << "a sort key never changes";
      entry.source = stored->content.source;
      entry.language = stored->content.language;
      entry.has_image = !stored->content.thumbnail_url.empty();
    } else {
      ASSERT_EQ(stored.status().code(), StatusCode::kNotFound);
      key = keys_.at(id);
    }
    for (auto& [feed, entries] : model_) {
      if (!feeds.contains(feed)) entries.erase(key);
    }
    for (const std::string& feed : feeds) {
      ModelEntry& place = model_[feed].emplace(key, entry).first->second;
      const int64_t step = place.step;  // it stays where it entered
      place = entry;
      place.step = step;
    }
  }

  void Write() {
    ++step_;
    std::vector<v1::Article> batch;
    for (size_t n = 1 + Pick(4); n > 0; --n) {
      batch.push_back(RandomArticle("a" + std::to_string(Pick(300))));
    }
    std::set<std::string> touched;
    const v1::BatchUpsertArticlesResponse response = Upsert(batch);
    for (const v1::UpsertArticleResult& result : response.results()) {
      if (result.has_upserted()) touched.insert(result.upserted().id());
    }
    for (const std::string& id : touched) Learn(id);
  }

  void DeleteSome() {
    if (keys_.empty()) return;
    ++step_;
    const std::string id = std::next(keys_.begin(), static_cast<long>(Pick(keys_.size())))->first;
    ASSERT_TRUE(Delete(id).ok());
    Learn(id);
  }

  void Begin() {
    OpenScroll scroll;
    FeedQuery& query = scroll.query;
    query.category = Pick<std::string>({"all", "all", "tech", "ai", "energy", "uncategorized"});
    query.page_size = static_cast<int>(1 + Pick(9));
    query.scan_limit = static_cast<int>(Pick(2) == 0 ? 10'000 : 5 + Pick(40));
    if (Pick(2) == 0) {
      if (Pick(3) == 0) query.filter.sources = {"s1", "s3", "s1"};
      if (Pick(3) == 0) query.filter.languages = {"ko", ""};
      if (Pick(3) == 0) query.filter.has_image = Pick(2) == 0;
      if (Pick(4) == 0) query.filter.publish_time_from = clock_.Now() - milliseconds(Pick(25));
      if (Pick(4) == 0) {
        query.filter.publish_time_until = clock_.Now() - milliseconds(Pick(25)) + Micros(Pick(2));
      }
    }
    scroll.until = step_;
    Read(scroll);
  }

  // Reads the next page of a scroll and judges it.
  void Read(OpenScroll scroll) {
    const StatusOr<FeedPage> page = store_.ListArticles(Soon(), scroll.query);
    ASSERT_TRUE(page.ok()) << page.status();
    ++pages_;
    Judge(scroll, *page);
    FeedPosition& position = scroll.query.position;
    // Whatever a reader keeps goes through a token.
    const uint64_t hash = HashFeed("default", scroll.query.category, scroll.query.filter);
    OpenScroll newer = scroll;
    newer.query.position = *ParseFeedToken(NewerToken(scroll.query, *page), hash);
    newer.since = scroll.until;
    newers_.push_back(std::move(newer));
    if (!page->next) return;
    position = *ParseFeedToken(NextToken(scroll.query, *page), hash);
    open_.push_back(std::move(scroll));
  }

  void Judge(const OpenScroll& scroll, const FeedPage& page) {
    const FeedQuery& query = scroll.query;
    const auto& before = query.position.before;
    std::vector<FeedKey> wanted;
    int looked_at = 0;
    for (const auto& [key, entry] : model_[FeedName("default", query.category)]) {
      if (before && key >= *before) continue;
      if (!page.next || key >= *page.next) ++looked_at;
      const bool shown = entry.step > scroll.since && entry.step <= scroll.until;
      if (shown && Matches(query.filter, key, entry)) wanted.push_back(key);
    }
    std::vector<FeedKey> got;
    for (const StoredArticle& article : page.articles) {
      got.push_back({article.publish_time, article.content.id});
    }
    const auto size = static_cast<size_t>(query.page_size);
    ASSERT_LE(got.size(), size);
    ASSERT_LE(got.size(), wanted.size());
    ASSERT_TRUE(std::equal(got.begin(), got.end(), wanted.begin()))
        << "skipped or repeated, in " << query.category;
    const bool more = got.size() < wanted.size();
    if (!page.next) {
      ASSERT_FALSE(more) << "stopped early";
      return;
    }
    ASSERT_TRUE(!before || *page.next < *before) << "no progress";
    ASSERT_TRUE(!more || wanted[got.size()] < *page.next) << "the next page would skip";
    // Rows are looked at scan by scan; each has its share of the limit.
    const size_t scans =
        std::max<size_t>({1, 2 * query.filter.sources.size() / 3, query.filter.languages.size()});
    const int share = query.scan_limit / static_cast<int>(scans);
    ASSERT_TRUE(got.size() == size || looked_at >= share) << "short without need";
  }

  void GoOn(std::vector<OpenScroll>& scrolls) {
    if (scrolls.empty()) return;
    const size_t i = Pick(scrolls.size());
    OpenScroll scroll = std::move(scrolls[i]);
    scrolls.erase(scrolls.begin() + static_cast<long>(i));
    if (!scroll.query.position.until) scroll.until = step_;  // the newer feed begins
    Read(std::move(scroll));
    if (scrolls.size() > 50) scrolls.erase(scrolls.begin());
  }

  std::mt19937 random_{20260201};
  int64_t step_ = 0;
  int pages_ = 0;
  CategoryPaths paths_;
  std::map<std::string, FeedKey> keys_;
  std::map<std::string, ModelFeed> model_;
  std::vector<OpenScroll> open_;
  std::vector<OpenScroll> newers_;
};

TEST_F(FeedProperty, EveryPageIsTheModelsPageWhateverHappensBetween) {
  for (int i = 0; i < 1500 && !HasFatalFailure(); ++i) {
    const size_t dice = Pick(20);
    if (dice < 5) {
      Write();
    } else if (dice < 6) {
      DeleteSome();
    } else if (dice < 8) {
      Begin();
    } else if (dice < 17) {
      GoOn(open_);
    } else {
      GoOn(newers_);
    }
  }
  EXPECT_GT(pages_, 500);
  EXPECT_GT(keys_.size(), 150u);
}

}  // namespace
}  // namespace winnow::newsfeed
