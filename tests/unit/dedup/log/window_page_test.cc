#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "services/dedup/judge/namespace_window.h"
#include "services/dedup/text/embedded_text_rules.h"
#include "tests/support/dedup/dedup_world.h"

// A window that is loaded by pages is the one that keeps each entry by itself.
namespace winnow::dedup {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

const TextRules& Rules() {
  static const TextRules rules = LoadTextRules().value();
  return rules;
}

const EmbedderCalibration kModel{"model", 0, 0.9};

std::string Words(World& world, uint64_t most) {
  static const std::vector<std::string> kWords = {"정부", "주거대책", "다음달", "발표",
                                                  "a1",   "fed",      "금리",   "인상",
                                                  "서울", "2026",     "é",      "속보"};
  std::string text;
  for (uint64_t left = world.Below(most + 1); left > 0; --left) {
    if (!text.empty()) text += ' ';
    text += kWords[world.Below(kWords.size())];
    if (world.OneIn(3)) text += std::to_string(world.Below(50));
  }
  return text;
}

index::Vector NextVector(World& world) {
  if (world.OneIn(3)) return {};
  index::Vector vector(8);
  for (int8_t& value : vector) value = static_cast<int8_t>(world.Below(200));
  return vector;
}

// A log as the service writes it: originals come before what repeats them.
std::vector<LogEntry> NextLog(World& world, int size) {
  std::vector<LogEntry> log;
  Time arrival{hours(1'000'000)};
  for (int seq = 1; seq <= size; ++seq) {
    LogEntry entry;
    entry.seq = seq;
    entry.channel = "c" + std::to_string(world.Below(5));
    entry.title = Words(world, 8);
    entry.lead = Words(world, 60);
    if (world.OneIn(2)) entry.canonical_url = "u" + std::to_string(world.Below(50));
    arrival += minutes(world.Below(30));
    entry.arrival_time = arrival;
    entry.vector = NextVector(world);
    entry.root_seq = seq;
    if (!log.empty() && world.OneIn(3)) {
      entry.root_seq = log[world.Below(log.size())].root_seq;
      const LogEntry& root = log[static_cast<size_t>(entry.root_seq - 1)];
      entry.root_channel = root.channel;
      entry.root_title = root.title;
      entry.root_lead = root.lead;
      entry.root_vector = root.vector;
    }
    log.push_back(std::move(entry));
  }
  return log;
}

// As the store reads it: what is not kept of a lead does not travel.
WindowPage PageOf(std::span<const LogEntry> entries, const Policy& policy) {
  WindowPage page(Rules());
  for (const LogEntry& entry : entries) {
    const Fingerprint print = Rules().OfNormalized(entry.title, "", "");
    const bool has_lead = FindsByLead(policy) || print.may_match_short_title;
    page.Add({entry.seq, entry.root_seq, entry.arrival_time, entry.channel, entry.title,
              has_lead ? std::string_view(entry.lead) : std::string_view(), entry.canonical_url,
              entry.vector});
  }
  return page;
}

std::string Describe(const Judgement& judged) {
  std::string text =
      std::to_string(static_cast<int>(judged.stage)) + " " + std::to_string(judged.similarity);
  for (const JudgedCandidate& each : judged.candidates) {
    text += " | " + std::to_string(each.seq) + " of " + std::to_string(each.root_seq) + " " +
            std::to_string(static_cast<int>(each.stage)) + " " +
            std::to_string(each.scores.jaccard) + " " +
            std::to_string(each.scores.lead_jaccard.value_or(-1)) + " " +
            std::to_string(each.scores.semantic.value_or(-2));
    for (const Guard guard : each.guards) text += " g" + std::to_string(static_cast<int>(guard));
  }
  return text;
}

void CheckWorld(uint64_t seed) {
  World world(seed);
  Policy policy;
  policy.window = hours(1 + static_cast<int64_t>(world.Below(48)));
  policy.rule_mode = world.OneIn(2) ? RuleMode::kCalibrated : RuleMode::kPublished;
  const std::vector<LogEntry> log = NextLog(world, WorldSize(300));
  const size_t first = world.Below(log.size() / 2);
  const auto segment = static_cast<uint16_t>(1 + world.Below(100));
  const auto before = static_cast<int64_t>(first);
  NamespaceWindow each(Rules(), policy, before, segment, &kModel);
  NamespaceWindow paged(Rules(), policy, before, segment, &kModel);
  for (size_t at = first; at < log.size();) {
    const size_t count = std::min<size_t>(log.size() - at, 1 + world.Below(80));
    const std::span<const LogEntry> entries = std::span(log).subspan(at, count);
    for (const LogEntry& entry : entries) each.Keep(entry);
    const WindowPage page = PageOf(entries, policy);
    std::map<int64_t, LogEntry> originals;
    for (const int64_t seq : paged.MissingOriginals(page)) {
      originals[seq] = log[static_cast<size_t>(seq - 1)];
    }
    paged.Keep(page, originals);
    at += count;
    if (world.OneIn(4)) {
      EXPECT_EQ(each.Shorten(), paged.Shorten());
    }
    each.Expire();
    paged.Expire();
    ASSERT_EQ(paged.size(), each.size());
    ASSERT_EQ(paged.bytes(), each.bytes());
    ASSERT_EQ(paged.position(), each.position());
    ASSERT_EQ(paged.last_arrival(), each.last_arrival());
  }
  for (int i = 0; i < 100; ++i) {
    const LogEntry& like = log[world.Below(log.size())];
    Fingerprint print = Rules().OfNormalized(world.OneIn(3) ? Words(world, 8) : like.title,
                                             like.lead, world.OneIn(3) ? like.canonical_url : "");
    print.vector = NextVector(world);
    const std::string channel = "c" + std::to_string(world.Below(6));
    const Time arrival = log.back().arrival_time + minutes(world.Below(600));
    ASSERT_EQ(Describe(paged.Judge(print, channel, arrival)),
              Describe(each.Judge(print, channel, arrival)));
  }
}

TEST(WindowPage, LoadsTheWindowThatKeepingEachEntryGivesInEveryWorld) {
  for (uint64_t seed = 1; seed <= WorldCount(60); ++seed) {
    SCOPED_TRACE("world " + std::to_string(seed));
    CheckWorld(seed);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(WindowPage, HasTheFingerprintsThatTheRulesMake) {
  World world(1);
  for (int i = 0; i < 500; ++i) {
    const std::string title = Words(world, 10);
    const std::string lead = Words(world, 80);
    WindowPage page(Rules());
    page.Add({1, 1, Time(), "one", "a b", "", "", {}});
    page.Add({2, 1, Time(), "two", title, lead, "url", {}});
    const Fingerprint print = Rules().OfNormalized(title, lead, "url");
    int64_t seq = 0;
    page.ForEach([&](const WindowPage::Entry& entry) {
      if (++seq != 2) return;
      EXPECT_TRUE(std::ranges::equal(entry.title, print.title));
      EXPECT_TRUE(std::ranges::equal(entry.lead, print.lead));
      EXPECT_EQ(entry.title_hash, print.title_hash);
      EXPECT_EQ(entry.url_hash, print.url_hash);
      EXPECT_EQ(entry.may_match_short_title, print.may_match_short_title);
      EXPECT_EQ(entry.text, title);
      EXPECT_EQ(page.channels()[entry.channel], "two");
    });
    EXPECT_EQ(seq, 2);
  }
}

}  // namespace
}  // namespace winnow::dedup
