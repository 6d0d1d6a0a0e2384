#include "services/newsfeed/feed/feed_prefix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "services/newsfeed/feed/feed_answer.h"
#include "services/newsfeed/feed/feed_memory.h"

namespace winnow::newsfeed {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

FeedKey KeyAt(int64_t ms, const std::string& id = "a") {
  return {Millis(std::chrono::milliseconds(ms)), id};
}

std::shared_ptr<const EncodedArticle> Encoded(const std::string& text) {
  EncodedArticle article;
  article.bytes = text;
  article.source = text.size() % 2 == 0 ? "even" : "odd";
  return std::make_shared<const EncodedArticle>(std::move(article));
}

PrefixEntry EntryAt(int64_t ms, int64_t seq = 1) {
  return {KeyAt(ms), seq, Encoded(std::to_string(ms))};
}

std::vector<int64_t> TimesOf(const PrefixPage& page) {
  std::vector<int64_t> times;
  for (const PrefixEntry& entry : page.entries) {
    times.push_back(entry.key.publish_time.time_since_epoch().count());
  }
  return times;
}

PrefixPage CutAll(const FeedPrefix& prefix) {
  return prefix.Cut({.until = 1'000'000, .limit = 1'000});
}

TEST(FeedPrefix, AnInsertBelowTheFloorIsNotAppended) {
  // Without a floor: prefix 20..16 of a longer feed; 18 and 17 are deleted, 10 is inserted and
  // appended, and a scroll skips 15..11.
  FeedPrefix prefix(5);
  prefix.Fill({EntryAt(20), EntryAt(19), EntryAt(18), EntryAt(17), EntryAt(16)}, /*whole=*/false);
  prefix.Remove(KeyAt(18));
  prefix.Remove(KeyAt(17));
  prefix.Put(EntryAt(10));
  EXPECT_THAT(TimesOf(CutAll(prefix)), ElementsAre(20, 19, 16));
  EXPECT_EQ(prefix.floor(), KeyAt(16));
}

TEST(FeedPrefix, AWholeFeedTakesAnything) {
  FeedPrefix prefix(5);
  prefix.Fill({EntryAt(20)}, /*whole=*/true);
  prefix.Put(EntryAt(10));
  EXPECT_THAT(TimesOf(CutAll(prefix)), ElementsAre(20, 10));
  EXPECT_FALSE(prefix.floor().has_value());
}

TEST(FeedPrefix, TheFloorStaysWhenItsEntryGoes) {
  FeedPrefix prefix(5);
  prefix.Fill({EntryAt(20), EntryAt(16)}, /*whole=*/false);
  prefix.Remove(KeyAt(16));
  EXPECT_EQ(prefix.floor(), KeyAt(16));
  prefix.Put(EntryAt(17));
  prefix.Put(EntryAt(15));
  EXPECT_THAT(TimesOf(CutAll(prefix)), ElementsAre(20, 17));
}

TEST(FeedPrefix, EvictionRaisesTheFloor) {
  FeedPrefix prefix(4);
  prefix.Fill({}, /*whole=*/true);
  for (int64_t ms = 1; ms <= 6; ++ms) prefix.Put(EntryAt(ms));
  EXPECT_THAT(TimesOf(CutAll(prefix)), ElementsAre(6, 5, 4, 3));
  EXPECT_EQ(prefix.floor(), KeyAt(3));
}

TEST(FeedPrefix, ACutHidesWhatIsBeyondTheWatermark) {
  FeedPrefix prefix(10);
  prefix.Fill({EntryAt(5, 9), EntryAt(4, 2), EntryAt(3, 8), EntryAt(2, 1)}, true);
  const PrefixPage page = prefix.Cut({.before = KeyAt(5), .until = 7, .limit = 1});
  EXPECT_THAT(TimesOf(page), ElementsAre(4));
  EXPECT_TRUE(page.has_more);
  EXPECT_THAT(TimesOf(prefix.Cut({.since = 7, .until = 9, .limit = 5})), ElementsAre(5, 3));
}

// A feed as the store has it, and answers from it as Store::ListArticles gives them.
struct Oracle {
  std::map<FeedKey, int64_t, std::greater<>> entries;  // newest first -> seq
  int64_t head = 0;

  std::vector<FeedKey> Page(const FeedPosition& position, size_t limit) const {
    std::vector<FeedKey> keys;
    for (const auto& [key, seq] : entries) {
      if (position.before && key >= *position.before) continue;
      if (seq <= position.since || seq > position.until.value_or(head)) continue;
      if (keys.size() == limit) break;
      keys.push_back(key);
    }
    return keys;
  }
};

// Random changes, fills, evictions and scrolls; every page that memory and store give together must
// be the page of the oracle.
class World {
 public:
  explicit World(uint32_t seed) : random_(seed), memory_(kCapacity, 4) { query_.category = "all"; }

  void Step() {
    switch (random_() % 8) {
      case 0:
      case 1:
      case 2:
        return Change();
      case 3:
        return CatchUp(1 + random_() % 3);
      case 4:
        if (random_() % 4 == 0) Fill();
        return;
      default:
        return Read();
    }
  }
  uint32_t from_memory = 0;
  uint32_t spliced = 0;

 private:
  static constexpr size_t kCapacity = 12;

  void Change() {
    const FeedKey key = KeyAt(static_cast<int64_t>(random_() % 40),
                              std::string(1, static_cast<char>('a' + random_() % 3)));
    ++store_.head;
    if (random_() % 3 == 0) {
      store_.entries.erase(key);
    } else if (!store_.entries.contains(key) || random_() % 4 == 0) {
      store_.entries[key] = store_.head;  // new, or gone and come back in one transaction
    }
    log_.push_back(key);  // an edit too
  }

  // The tailer: reads what is there now for the next changes, which may be of a later position.
  void CatchUp(size_t count) {
    for (; count > 0 && applied_ < store_.head; --count) {
      const FeedKey& key = log_[static_cast<size_t>(applied_++)];
      PlaceNow place{"default/all", {key, 0, nullptr}};
      if (const auto found = store_.entries.find(key); found != store_.entries.end()) {
        place.entry = {key, found->second, Encoded(key.id)};
      }
      memory_.Apply(applied_, {place});
      memory_.Advance(applied_);
    }
  }

  void Fill() {
    FeedFill fill;
    fill.ns = "default";
    for (const auto& [key, seq] : store_.entries) {
      if (fill.entries.size() == kCapacity) break;
      fill.entries.push_back({key, seq, Encoded(key.id)});
    }
    fill.whole = fill.entries.size() == store_.entries.size();
    fill.position = store_.head;
    fill.epoch = "e";
    memory_.Install("default/all", std::move(fill));
  }

  void Read() {
    FeedPosition& at = query_.position;
    if (random_() % 5 == 0) at = {};
    if (random_() % 9 == 0) at = {.since = at.until.value_or(0), .epoch = "e"};
    query_.page_size = 1 + static_cast<int>(random_() % 6);
    std::optional<MemoryView> view = memory_.Look(query_);
    if (!view) return;
    ++from_memory;
    FeedPosition asked = at;
    asked.until = view->until;
    const std::vector<FeedKey> want = store_.Page(asked, static_cast<size_t>(query_.page_size) + 1);
    std::vector<FeedKey> got;
    for (const PrefixEntry& entry : view->page.entries) got.push_back(entry.key);
    const FeedAnswer answer = Answer(*view, got);
    // Memory may show for a moment what was deleted after its position: compare at the head.
    if (applied_ == store_.head) {
      const size_t size = static_cast<size_t>(query_.page_size);
      ASSERT_EQ(got, std::vector<FeedKey>(
                         want.begin(),
                         want.begin() + static_cast<std::ptrdiff_t>(std::min(size, want.size()))));
      ASSERT_EQ(answer.next.has_value(), want.size() > size);
    }
    // At any time: nothing that is there, and not hidden, is passed over.
    for (const FeedKey& key : want) {
      if (answer.next && key < *answer.next) break;
      ASSERT_THAT(got, ::testing::Contains(key));
    }
    at.before = answer.next;
    at.until = view->until;
    at.epoch = "e";
    if (!answer.next) at = {};
  }

  FeedAnswer Answer(MemoryView& view, std::vector<FeedKey>& got) {
    if (!NeedsStore(view, query_)) return FromMemory(std::move(view), query_);
    ++spliced;
    const FeedQuery rest = BelowFloor(view, query_);
    std::vector<FeedKey> below =
        store_.Page(rest.position, static_cast<size_t>(rest.page_size) + 1);
    StorePart part;
    if (below.size() > static_cast<size_t>(rest.page_size)) {
      below.pop_back();
      part.next = below.back();
    }
    for (const FeedKey& key : below) part.articles.push_back(Encoded(key.id));
    if (got.size() < static_cast<size_t>(query_.page_size)) {
      got.insert(got.end(), below.begin(), below.end());
    }
    return Spliced(std::move(view), std::move(part), query_);
  }

  std::mt19937 random_;
  Oracle store_;
  std::vector<FeedKey> log_;
  int64_t applied_ = 0;
  FeedMemory memory_;
  FeedQuery query_;
};

TEST(FeedMemory, PagesWithTheStoreBelowItAreThoseOfTheStore) {
  uint32_t from_memory = 0;
  uint32_t spliced = 0;
  const char* sized = std::getenv("WINNOW_FEED_WORLDS");  // more for a long proof
  const uint32_t worlds = sized != nullptr ? static_cast<uint32_t>(std::atoi(sized)) : 50;
  for (uint32_t seed = 0; seed < worlds; ++seed) {
    World world(seed);
    for (int step = 0; step < 400; ++step) {
      world.Step();
      if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << " step " << step;
    }
    from_memory += world.from_memory;
    spliced += world.spliced;
  }
  EXPECT_GT(from_memory, worlds * 40);
  EXPECT_GT(spliced, worlds * 4);
}

TEST(FeedMemory, IsNotUsedBehindTheWatermarkOrInAnotherHistory) {
  FeedMemory memory(10, 4);
  FeedFill fill;
  fill.ns = "default";
  fill.entries = {EntryAt(5, 3)};
  fill.whole = true;
  fill.position = 3;
  fill.epoch = "e";
  memory.Install("default/all", fill);
  FeedQuery query;
  query.category = "all";
  EXPECT_TRUE(memory.Look(query).has_value());
  query.position = {.until = 4, .epoch = "e"};
  EXPECT_FALSE(memory.Look(query).has_value());
  query.position = {.until = 3, .epoch = "another"};
  EXPECT_FALSE(memory.Look(query).has_value());
  query.position = {.until = 3, .epoch = "e"};
  EXPECT_TRUE(memory.Look(query).has_value());
  memory.Clear(9);
  EXPECT_FALSE(memory.Look(query).has_value());
}

TEST(FeedMemory, AFillKnowsBetterThanChangesBeforeIt) {
  FeedMemory memory(10, 4);
  FeedFill fill;
  fill.ns = "default";
  fill.whole = true;
  fill.position = 7;  // 5 was deleted at 6
  fill.epoch = "e";
  memory.Install("default/all", fill);
  memory.Apply(5, {{"default/all", EntryAt(5, 5)}});  // read before that
  FeedQuery query;
  query.category = "all";
  EXPECT_THAT(memory.Look(query)->page.entries, IsEmpty());
}

TEST(FeedMemory, TheLeastUsedFeedGoes) {
  FeedMemory memory(10, 2);
  for (const char* name : {"default/a", "default/b", "default/c"}) {
    FeedFill fill;
    fill.ns = "default";
    fill.epoch = "e";
    fill.position = 1;
    memory.Install(name, fill);
  }
  EXPECT_EQ(memory.feeds(), 2U);
}

TEST(FeedAnswer, AFilterThatBeginsAboveTheFloorNeedsNoStore) {
  FeedMemory memory(2, 2);
  FeedFill fill;
  fill.ns = "default";
  fill.entries = {EntryAt(50), EntryAt(40)};
  fill.position = 1;
  fill.epoch = "e";
  memory.Install("default/all", fill);
  FeedQuery query;
  query.category = "all";
  EXPECT_TRUE(NeedsStore(*memory.Look(query), query));
  query.filter.publish_time_from = Time(Micros(40'001));
  EXPECT_FALSE(NeedsStore(*memory.Look(query), query));
  query.filter.publish_time_from = Time(Micros(40'000));
  EXPECT_TRUE(NeedsStore(*memory.Look(query), query));
}

HotPages::Page PageOf(uint64_t version, size_t size) {
  return {version, false,         std::nullopt,
          1,       "default/all", std::make_shared<const std::string>(size, 'a')};
}

TEST(HotPages, AreThoseOfTheMemoryThatTheyWereCutFrom) {
  FeedMemory memory(2, 2);
  HotPages pages;
  pages.Keep("all 20", PageOf(memory.version(), 7));
  ASSERT_NE(pages.Find("all 20", memory.version()), nullptr);
  EXPECT_EQ(pages.Find("all 20", memory.version())->bytes->size(), 7U);
  EXPECT_EQ(pages.Find("all 21", memory.version()), nullptr);
  const std::vector<std::function<void()>> changes = {
      [&] { memory.Install("default/all", {}); }, [&] { memory.Apply(1, {}); },
      [&] { memory.Advance(2); }, [&] { memory.Refresh("default", {}); }, [&] { memory.Clear(3); }};
  for (size_t i = 0; i < changes.size(); ++i) {
    pages.Keep("all 20", PageOf(memory.version(), 7));
    changes[i]();
    EXPECT_EQ(pages.Find("all 20", memory.version()), nullptr) << "after change " << i;
  }
}

TEST(HotPages, AreForgottenWhenTheyGrowTooLarge) {
  HotPages pages;
  const auto kept = [&](int count) {
    int found = 0;
    for (int i = 0; i < count; ++i) {
      if (pages.Find("feed " + std::to_string(i), 1) != nullptr) ++found;
    }
    return found;
  };
  for (int i = 0; i < 30; ++i) pages.Keep("feed " + std::to_string(i), PageOf(1, size_t{1} << 20));
  EXPECT_EQ(kept(30), 30);
  for (int i = 0; i < 30; ++i) pages.Keep("feed 0", PageOf(1, size_t{1} << 20));  // in its place
  EXPECT_EQ(kept(30), 30);
  for (int i = 30; i < 40; ++i) pages.Keep("feed " + std::to_string(i), PageOf(1, size_t{1} << 20));
  EXPECT_LE(kept(40), 32);
  for (int i = 0; i < 10'000; ++i) pages.Keep("feed " + std::to_string(i), PageOf(1, 1));
  EXPECT_LE(kept(10'000), 512);
}

}  // namespace
}  // namespace winnow::newsfeed
