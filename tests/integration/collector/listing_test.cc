#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "services/collector/items/item_store.h"
#include "tests/support/collector/collector.h"
#include "tests/support/sync/eventually.h"

namespace winnow::collector {
namespace {

using test::AcceptedItem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CollectorListing : public ::testing::Test {
 protected:
  CollectorListing()
      : url_(test::NewCollectorDatabase()),
        reads_({.name = "read", .url = url_, .password = "", .connections = 4}, metrics_),
        writes_({.name = "write", .url = url_, .password = "", .connections = 6}, metrics_),
        store_(reads_, writes_) {}

  static Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }

  // An item that arrived so many minutes before a fixed time.
  static Item Arrived(int minutes_ago, int number, const std::string& channel = "edaily") {
    static const Time start = SystemClock().Now();
    Item item = AcceptedItem(number, channel);
    item.arrival_time = start - std::chrono::minutes(minutes_ago);
    return item;
  }
  void Put(std::vector<Item> items) {
    const auto answers = store_.Put(Soon(), std::move(items), "");
    ASSERT_TRUE(answers.ok()) << answers.status();
  }
  ItemPage Page(const ListQuery& query) {
    StatusOr<ItemPage> page = store_.List(Soon(), query);
    EXPECT_TRUE(page.ok()) << page.status();
    return page.ok() ? *std::move(page) : ItemPage{};
  }
  // From where `query` stands to the end.
  std::vector<Item> Scroll(ListQuery query) {
    std::vector<Item> items;
    do {
      ItemPage page = Page(query);
      std::move(page.items.begin(), page.items.end(), std::back_inserter(items));
      query.cursor = page.next;
    } while (query.cursor);
    return items;
  }
  static std::vector<std::string> Titles(const std::vector<Item>& items) {
    std::vector<std::string> titles;
    for (const Item& item : items) titles.push_back(item.title);
    return titles;
  }
  static ListQuery Query(int page_size, const std::string& channel = "") {
    return {.ns = "default", .channel = channel, .page_size = page_size, .cursor = {}};
  }

  const std::string url_;
  Metrics metrics_;
  pg::Pool reads_;
  pg::Pool writes_;
  ItemStore store_;
};

TEST_F(CollectorListing, OfNothingIsOneEmptyPage) {
  const ItemPage page = Page(Query(10));
  EXPECT_THAT(page.items, IsEmpty());
  EXPECT_FALSE(page.next);
}

TEST_F(CollectorListing, IsByArrivalNewestFirst) {
  Put({Arrived(3, 1), Arrived(1, 2), Arrived(2, 3)});
  EXPECT_THAT(Titles(Scroll(Query(10))), ElementsAre("Title 2", "Title 3", "Title 1"));
  EXPECT_THAT(Titles(Scroll(Query(1))), ElementsAre("Title 2", "Title 3", "Title 1"));
}

TEST_F(CollectorListing, APageThatEndsTheListIsTheLast) {
  Put({Arrived(1, 1), Arrived(2, 2)});
  EXPECT_FALSE(Page(Query(2)).next);
  EXPECT_TRUE(Page(Query(1)).next);
}

TEST_F(CollectorListing, IsOfItsNamespaceAndChannel) {
  Item elsewhere = Arrived(1, 3);
  elsewhere.ns = "import";
  Put({Arrived(1, 1, "edaily"), Arrived(2, 2, "mbc"), elsewhere});
  EXPECT_THAT(Titles(Scroll(Query(10))), ElementsAre("Title 1", "Title 2"));
  EXPECT_THAT(Titles(Scroll(Query(10, "mbc"))), ElementsAre("Title 2"));
  EXPECT_THAT(Titles(Scroll(Query(10, "none"))), IsEmpty());
}

TEST_F(CollectorListing, ItemsOfOneArrivalTimeAreNeitherSkippedNorRepeated) {
  std::vector<Item> items;
  for (int i = 0; i < 100; ++i) items.push_back(Arrived(5, i));
  Put(items);
  std::set<std::string> seen;
  for (const Item& item : Scroll(Query(7))) EXPECT_TRUE(seen.insert(item.id).second);
  EXPECT_EQ(seen.size(), 100U);
}

TEST_F(CollectorListing, LaterArrivalsStayOutEvenWithAnOldArrivalTime) {
  Put({Arrived(10, 1), Arrived(20, 2), Arrived(30, 3)});
  ListQuery running = Query(1);
  running.cursor = Page(running).next;
  Put({Arrived(5, 4), Arrived(15, 5), Arrived(25, 6)});
  EXPECT_THAT(Titles(Scroll(running)), ElementsAre("Title 2", "Title 3"));
  EXPECT_EQ(Scroll(Query(2)).size(), 6U);
}

TEST_F(CollectorListing, AWriterThatBeganEarlierAndCommitsLaterStaysOut) {
  Put({Arrived(10, 1), Arrived(20, 2)});
  std::latch written(1);
  std::latch may_commit(1);
  std::thread writer([&] {
    const Status status = writes_.Transaction(Soon(), [&](pg::Session& session) {
      session.ExecuteText(
          "INSERT INTO collector.items (id, identity, namespace, channel, external_id, url,"
          " canonical_url, title, snippet, language, channel_name, image_url, video_url,"
          " source_categories, keywords, publish_time, arrival_time, create_time)"
          " SELECT gen_random_uuid(), gen_random_uuid(), namespace,"
          " channel, 'late', url, canonical_url, 'Late', snippet, language, channel_name, "
          "image_url,"
          " video_url, source_categories, keywords, publish_time,"
          " arrival_time - interval '5 minutes', create_time FROM collector.items"
          " WHERE title = 'Title 1'");
      written.count_down();
      may_commit.wait();
      return OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
  });
  written.wait();
  Put({Arrived(30, 3)});  // begins later and commits earlier
  ListQuery running = Query(1);
  running.cursor = Page(running).next;
  may_commit.count_down();
  writer.join();
  EXPECT_THAT(Titles(Scroll(running)), ElementsAre("Title 2", "Title 3"));
  EXPECT_THAT(Titles(Scroll(Query(10))), ElementsAre("Title 1", "Late", "Title 2", "Title 3"));
}

// The database was moved: its transaction numbers are another cluster's, and may lie in the future.
TEST_F(CollectorListing, SurvivesAMoveToAnotherCluster) {
  Put({Arrived(10, 1), Arrived(20, 2), Arrived(30, 3)});
  ListQuery running = Query(1);
  running.cursor = Page(running).next;
  running.cursor->cluster += 1;
  test::RunSql(writes_, "UPDATE collector.origin SET cluster = cluster + 1");
  test::RunSql(writes_, "UPDATE collector.items SET writer = '900000000000'");
  EXPECT_THAT(Titles(Scroll(running)), ElementsAre("Title 2", "Title 3"));
  EXPECT_THAT(Titles(Scroll(Query(2))), ElementsAre("Title 1", "Title 2", "Title 3"));
  ListQuery after = Query(1);
  after.cursor = Page(after).next;
  Put({Arrived(15, 4)});
  EXPECT_THAT(Titles(Scroll(after)), ElementsAre("Title 2", "Title 3"));
}

// One transaction's items, and when its put began and ended by a count that all threads share.
struct PendingBatch {
  std::set<std::string> ids;
  int began = 0;
  int ended = 0;
};

// The oracle knows nothing of transactions: what was put before a scroll began is in it, what was
// put after its first page is not, a batch is in it as a whole or not at all, and nothing is in it
// twice or out of order.
class ScrollOracle {
 public:
  int Tick() { return ++clock_; }
  void Add(PendingBatch batch) {
    const std::lock_guard lock(mutex_);
    batches_.push_back(std::move(batch));
  }
  void Check(const std::vector<Item>& items, int began, int first_page) {
    std::set<std::string> ids;
    for (size_t i = 0; i < items.size(); ++i) {
      EXPECT_TRUE(ids.insert(items[i].id).second) << "repeated";
      if (i > 0) {
        EXPECT_LT(std::pair(items[i].arrival_time, items[i].id),
                  std::pair(items[i - 1].arrival_time, items[i - 1].id));
      }
    }
    const std::lock_guard lock(mutex_);
    size_t expected = 0;
    for (const PendingBatch& batch : batches_) {
      const auto shown = static_cast<size_t>(std::count_if(
          batch.ids.begin(), batch.ids.end(), [&](const auto& id) { return ids.contains(id); }));
      EXPECT_TRUE(shown == 0 || shown == batch.ids.size()) << "a part of a batch";
      EXPECT_TRUE(batch.ended > began || shown > 0) << "skipped";
      EXPECT_TRUE(batch.began < first_page || shown == 0) << "came later";
      expected += shown;
    }
    EXPECT_EQ(ids.size(), expected) << "items of nobody";
  }

 private:
  std::atomic<int> clock_ = 0;
  std::mutex mutex_;
  std::vector<PendingBatch> batches_;
};

TEST_F(CollectorListing, UnderConcurrentWritersAgreesWithTheOracle) {
  struct Scrolled {
    std::vector<Item> items;
    int began = 0;
    int first_page = 0;
  };
  ScrollOracle oracle;
  std::atomic<int> writing = 4;
  std::vector<std::thread> threads;
  for (int w = 0; w < 4; ++w) {
    threads.emplace_back([&, w] {
      std::mt19937 random(static_cast<unsigned>(w));
      for (int number = 0; number < 400;) {
        std::vector<Item> items;
        for (unsigned size = 1 + random() % 20; items.size() < size; ++number) {
          items.push_back(Arrived(static_cast<int>(random() % 60), 1'000 * w + number));
        }
        PendingBatch batch;
        batch.began = oracle.Tick();
        const auto answers = store_.Put(Soon(), std::move(items), "");
        batch.ended = oracle.Tick();
        ASSERT_TRUE(answers.ok()) << answers.status();
        for (const auto& answer : *answers) batch.ids.insert(answer->item.id);
        oracle.Add(std::move(batch));
      }
      --writing;
    });
  }
  std::mutex mutex;
  std::vector<Scrolled> scrolls;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      do {
        Scrolled scroll;
        ListQuery query = Query(7 + 30 * r);
        scroll.began = oracle.Tick();
        ItemPage page = Page(query);
        scroll.first_page = oracle.Tick();
        scroll.items = std::move(page.items);
        if (page.next) {
          query.cursor = page.next;
          for (Item& item : Scroll(query)) scroll.items.push_back(std::move(item));
        }
        const std::lock_guard lock(mutex);
        scrolls.push_back(std::move(scroll));
      } while (writing > 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(scrolls.size(), 2U);
  for (const Scrolled& scroll : scrolls)
    oracle.Check(scroll.items, scroll.began, scroll.first_page);
}

}  // namespace
}  // namespace winnow::collector
