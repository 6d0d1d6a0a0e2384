#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "services/collector/items/item_store.h"
#include "services/collector/service.h"
#include "services/platform/base/timestamp.h"
#include "services/platform/base/uuid.h"
#include "services/platform/events/core/outbox.h"
#include "tests/support/collector/collector.h"
#include "tests/support/postgres/plans.h"
#include "tests/support/sync/eventually.h"

namespace winnow::collector {
namespace {

using test::AcceptedItem;
using test::QueryNumber;

constexpr char kTrace[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

class CollectorStore : public ::testing::Test {
 protected:
  CollectorStore()
      : url_(test::NewCollectorDatabase()),
        reads_({.name = "read", .url = url_, .password = "", .connections = 4}, metrics_),
        writes_({.name = "write", .url = url_, .password = "", .connections = 8}, metrics_),
        store_(reads_, writes_) {}

  static Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }

  std::vector<PutItem> Put(std::vector<Item> items) {
    auto answers = store_.Put(Soon(), std::move(items), kTrace);
    EXPECT_TRUE(answers.ok()) << answers.status();
    std::vector<PutItem> out;
    if (!answers.ok()) return out;
    for (StatusOr<PutItem>& answer : *answers) {
      EXPECT_TRUE(answer.ok()) << answer.status();
      if (answer.ok()) out.push_back(*std::move(answer));
    }
    return out;
  }
  int64_t Count(const std::string& from) {
    return QueryNumber(reads_, "SELECT count(*) FROM " + from);
  }

  const std::string url_;
  Metrics metrics_;
  pg::Pool reads_;
  pg::Pool writes_;
  ItemStore store_;
};

void ExpectEqual(const Item& a, const Item& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.ns, b.ns);
  EXPECT_EQ(a.channel, b.channel);
  EXPECT_EQ(a.external_id, b.external_id);
  EXPECT_EQ(a.url, b.url);
  EXPECT_EQ(a.canonical_url, b.canonical_url);
  EXPECT_EQ(a.title, b.title);
  EXPECT_EQ(a.snippet, b.snippet);
  EXPECT_EQ(a.language, b.language);
  EXPECT_EQ(a.channel_name, b.channel_name);
  EXPECT_EQ(a.channel_icon_url, b.channel_icon_url);
  EXPECT_EQ(a.ai_tags, b.ai_tags);
  EXPECT_EQ(a.image_url, b.image_url);
  EXPECT_EQ(a.video_url, b.video_url);
  EXPECT_EQ(a.source_categories, b.source_categories);
  EXPECT_EQ(a.keywords, b.keywords);
  EXPECT_EQ(a.publish_time, b.publish_time);
  EXPECT_EQ(a.arrival_time, b.arrival_time);
  EXPECT_EQ(a.create_time, b.create_time);
  EXPECT_EQ(a.publish_time_assumed, b.publish_time_assumed);
}

TEST_F(CollectorStore, WhatIsPutComesBackAsItWas) {
  Item item = AcceptedItem(1);
  item.external_id = R"(id with "quotes", \backslashes\ and {braces})";
  item.title = "따옴표 \" 와 ' 그리고 \\ 줄\n바꿈\t";
  item.snippet = "NULL";
  item.channel_name = "é 新聞";
  item.image_url = "https://example.com/a.png";
  item.video_url = "https://example.com/a.mp4";
  item.source_categories = {"a,b", "\"quoted\"", "{}", "NULL", "\\"};
  item.keywords = {"기준금리"};
  item.channel_icon_url = "https://example.com/icon.png";
  item.ai_tags = {"a \"tag\"", "경제"};
  item.publish_time = *ParseTime("0001-01-01T00:00:00Z");
  item.arrival_time = *ParseTime("2026-02-01T00:00:00.123456Z");
  const std::vector<PutItem> put = Put({item});
  ASSERT_EQ(put.size(), 1U);
  EXPECT_TRUE(put[0].created);
  EXPECT_TRUE(IsUuid(put[0].item.id));
  item.id = put[0].item.id;
  ExpectEqual(put[0].item, item);
  const auto got = store_.Get(Soon(), {item.id});
  ASSERT_TRUE(got.ok() && got->front()) << got.status();
  ExpectEqual(*got->front(), item);
}

TEST_F(CollectorStore, TimesFromYear1To9999AreKept) {
  Item item = AcceptedItem(1);
  item.publish_time = *ParseTime("9999-12-31T23:59:59.999999Z");
  item.arrival_time = *ParseTime("0001-01-01T00:00:00Z");
  const auto got = store_.Get(Soon(), {Put({item})[0].item.id});
  ASSERT_TRUE(got.ok() && got->front());
  EXPECT_EQ(got->front()->publish_time, item.publish_time);
  EXPECT_EQ(got->front()->arrival_time, item.arrival_time);
}

TEST_F(CollectorStore, AKnownItemAnswersItsStoredFormAndMakesNoEvent) {
  const PutItem first = Put({AcceptedItem(1)})[0];
  Item again = AcceptedItem(1);
  again.title = "Another title";
  const std::vector<PutItem> second = Put({AcceptedItem(2), again});
  EXPECT_TRUE(second[0].created);
  EXPECT_FALSE(second[1].created);
  ExpectEqual(second[1].item, first.item);
  EXPECT_EQ(Count("collector.items"), 2);
  EXPECT_EQ(Count("collector.outbox"), 2);
}

TEST_F(CollectorStore, SameItemsOfABatchGetTheSameStoredItem) {
  Item second = AcceptedItem(1);
  second.title = "Comes second";
  const std::vector<PutItem> put = Put({AcceptedItem(1), AcceptedItem(2), second});
  EXPECT_TRUE(put[0].created);
  EXPECT_TRUE(put[1].created);
  EXPECT_FALSE(put[2].created);
  ExpectEqual(put[2].item, put[0].item);
  EXPECT_EQ(put[2].item.title, "Title 1");
  EXPECT_EQ(Count("collector.outbox"), 2);
}

TEST_F(CollectorStore, TheSameUrlOfAnotherChannelIsAnotherItem) {
  const std::vector<PutItem> put = Put({AcceptedItem(1, "edaily"), AcceptedItem(1, "mbc")});
  EXPECT_TRUE(put[0].created && put[1].created);
  EXPECT_NE(put[0].item.id, put[1].item.id);
}

TEST_F(CollectorStore, EachNewItemHasItsEventInTheOrderPut) {
  std::vector<Item> items;
  for (int i = 0; i < 1'000; ++i) items.push_back(AcceptedItem(i));
  const std::vector<PutItem> put = Put(items);
  const auto events = test::ReadOutbox(reads_);
  ASSERT_EQ(events.size(), 1'000U);
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].item_collected().item_id(), put[i].item.id);
    EXPECT_EQ(events[i].namespace_(), "default");
    EXPECT_EQ(events[i].traceparent(), kTrace);
    EXPECT_TRUE(IsUuid(events[i].id()));
  }
  EXPECT_EQ(QueryNumber(reads_,
                        "SELECT count(DISTINCT event) FROM collector.outbox"
                        " WHERE event = 'winnow.events.v1.ItemCollected'"),
            1);
}

TEST_F(CollectorStore, ItemsAndEventsAreStoredTogetherOrNotAtAll) {
  test::RunSql(writes_, "ALTER TABLE collector.outbox RENAME TO elsewhere");
  EXPECT_EQ(store_.Put(Soon(), {AcceptedItem(1)}, kTrace).status().code(), StatusCode::kInternal);
  test::RunSql(writes_, "ALTER TABLE collector.elsewhere RENAME TO outbox");
  EXPECT_EQ(Count("collector.items"), 0);
  EXPECT_TRUE(Put({AcceptedItem(1)})[0].created);
}

TEST_F(CollectorStore, GetAnswersInTheOrderAskedAndNothingForUnknownIds) {
  const std::vector<PutItem> put = Put({AcceptedItem(1), AcceptedItem(2)});
  const std::string unknown = NewUuidV7(SystemClock().Now());
  const auto got = store_.Get(Soon(), {put[1].item.id, unknown, put[0].item.id, put[1].item.id});
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->size(), 4U);
  EXPECT_EQ((*got)[0]->title, "Title 2");
  EXPECT_FALSE((*got)[1]);
  EXPECT_EQ((*got)[2]->title, "Title 1");
  EXPECT_EQ((*got)[3]->title, "Title 2");
}

// Puts `items` in batches of a random order until each batch went in, whatever happens between;
// counts what it was answered that it created.
void PutAllUntilDone(ItemStore& store, std::vector<Item> items, unsigned seed,
                     std::atomic<int>& created, std::map<std::string, std::string>& ids) {
  std::mt19937 random(seed);
  std::shuffle(items.begin(), items.end(), random);
  for (size_t from = 0; from < items.size(); from += 50) {
    const std::vector<Item> batch(items.begin() + static_cast<ptrdiff_t>(from),
                                  items.begin() + static_cast<ptrdiff_t>(from + 50));
    ASSERT_TRUE(test::Eventually([&] {
      const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      auto answers = store.Put(deadline, batch, kTrace);
      if (!answers.ok()) return false;
      for (const StatusOr<PutItem>& answer : *answers) {
        EXPECT_TRUE(answer.ok()) << answer.status();
        created += answer->created ? 1 : 0;
        ids[answer->item.url] = answer->item.id;
      }
      return true;
    }));
  }
}

TEST_F(CollectorStore, ConcurrentWritersOfTheSameItemsStoreEachOnce) {
  std::vector<Item> items;
  for (int i = 0; i < 300; ++i) items.push_back(AcceptedItem(i));
  std::atomic<int> created = 0;
  std::vector<std::map<std::string, std::string>> ids(8);
  std::vector<std::thread> writers;
  for (unsigned w = 0; w < ids.size(); ++w) {
    writers.emplace_back([&, w] { PutAllUntilDone(store_, items, w, created, ids[w]); });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(created, 300);
  EXPECT_EQ(Count("collector.items"), 300);
  EXPECT_EQ(Count("collector.outbox"), 300);
  for (const auto& reported : ids) EXPECT_EQ(reported, ids[0]);
}

TEST_F(CollectorStore, KilledConnectionsLoseNothingAndStoreNothingTwice) {
  std::vector<Item> items;
  for (int i = 0; i < 1'000; ++i) items.push_back(AcceptedItem(i));
  std::atomic<int> created = 0;
  std::atomic<int> writing = 4;
  std::vector<std::map<std::string, std::string>> ids(4);
  std::vector<std::thread> threads;
  for (unsigned w = 0; w < ids.size(); ++w) {
    threads.emplace_back([&, w] {
      PutAllUntilDone(store_, items, w, created, ids[w]);
      --writing;
    });
  }
  Metrics metrics;
  pg::Pool killer({.name = "killer", .url = url_, .password = "", .connections = 1}, metrics);
  const auto stored = [&] { return QueryNumber(killer, "SELECT count(*) FROM collector.items"); };
  for (int kills = 0; kills < 20 && writing > 0; ++kills) {
    test::RunSql(killer,
                 "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                 " WHERE datname = current_database() AND pid <> pg_backend_pid()");
    // The next blow falls on the work that follows, not on reconnecting.
    const int64_t before = stored();
    EXPECT_TRUE(
        test::Eventually([&] { return writing == 0 || before == 1'000 || stored() > before; }));
  }
  for (std::thread& thread : threads) thread.join();
  // A commit whose response was lost is known when it is put again.
  EXPECT_LE(created, 1'000);
  for (const auto& reported : ids) EXPECT_EQ(reported, ids[0]);
  EXPECT_EQ(stored(), 1'000);
  EXPECT_EQ(QueryNumber(killer, "SELECT count(*) FROM collector.outbox"), 1'000);
}

TEST_F(CollectorStore, LooksItemsUpByIndexInTablesNeverAnalysed) {
  pg::Pool pool({.name = "plans", .url = url_, .password = "", .connections = 1}, metrics_);
  ItemStore store(pool, pool);
  for (int times = 0; times < 2; ++times) {
    ASSERT_TRUE(store.Put(Soon(), {AcceptedItem(1), AcceptedItem(2)}, kTrace).ok());
  }
  ASSERT_TRUE(store.Get(Soon(), {NewUuidV7(SystemClock().Now())}).ok());
  for (const char* channel : {"", "edaily"}) {
    ASSERT_TRUE(
        store.List(Soon(), {.ns = "default", .channel = channel, .page_size = 10, .cursor = {}})
            .ok());
  }
  const auto plans = test::KeptPlans(pool);
  EXPECT_TRUE(plans.contains("collector.get_items"));
  EXPECT_TRUE(plans.contains("collector.read_items_by_identity"));
  for (const auto& [name, plan] : plans) {
    EXPECT_THAT(plan, ::testing::Not(::testing::HasSubstr("Seq Scan on items"))) << name;
  }
}

TEST(CollectorSchema, HoldsTheOutboxAsThePlatformWantsIt) {
  const pg::Migrations migrations = CollectorMigrations();
  EXPECT_EQ(migrations.schema, "collector");
  ASSERT_FALSE(migrations.files.empty());
  EXPECT_NE(std::string(migrations.files[0].text).find(events::OutboxDdl("collector")),
            std::string::npos);
}

}  // namespace
}  // namespace winnow::collector
