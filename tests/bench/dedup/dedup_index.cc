// The exact index in process, over the titles of the real stream (WINNOW_DATA): rounds of each leg,
// interleaved, medians, and one leg twice as the A/A control. The floor is the same job done
// plainly: a hash map from prefix tokens to titles, each candidate compared in full, without
// expiry. Times are of the thread's CPU; making tokens is measured apart.
//
//   bench_dedup_index            all legs
//   bench_dedup_index --large    the window of 1,000,000 alone
//   bench_dedup_index --whole    titles of the whole stream at t = .8, no expiry: one line
//                                "documents/s pairs bytes_each", for dedup_peers.py
//   bench_dedup_index --dump DIR what that leg reads and finds, as text: DIR/tokens, DIR/pairs
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "services/dedup/index/dot.h"
#include "services/dedup/index/window_index.h"
#include "services/dedup/text/embedded_text_rules.h"
#include "tests/bench/measure.h"
#include "tests/support/news/news_stream.h"

namespace winnow::dedup::index {
namespace {

constexpr int kRounds = 5;
constexpr int kPasses = 8;  // over the stream, in one leg
constexpr std::chrono::hours kWindow{24};
constexpr size_t kLargeWindow = 1'000'000;
constexpr size_t kMeasured = 100'000;

using bench::Median;
using TokenSet = std::vector<Token>;
const TokenSet kNothing;

struct Title {
  TokenSet tokens;
  Time arrival;
  TokenSet lead = {};
};

double ThreadSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// The stream several times, one after the other.
std::vector<Title> Repeat(const std::vector<Title>& once) {
  std::vector<Title> titles;
  const Micros length = once.back().arrival - once.front().arrival + Micros(1);
  for (int pass = 0; pass < kPasses; ++pass) {
    for (const Title& title : once) {
      titles.push_back({title.tokens, title.arrival + pass * length, title.lead});
    }
  }
  return titles;
}

// A day of a million titles: halves of two real ones with two new tokens, and one in ten a
// variation of a recent one.
std::vector<Title> MakeLarge(const std::vector<Title>& real) {
  std::mt19937_64 random(1);
  std::vector<Title> titles;
  const size_t count = kLargeWindow + kMeasured;
  const auto fresh = [&] { return static_cast<Token>(random() % 4'000'000'000); };
  for (size_t i = 0; i < count; ++i) {
    TokenSet tokens;
    if (i > 0 && random() % 10 == 0) {
      tokens = titles[i - 1 - random() % std::min<size_t>(i, 50'000)].tokens;
      tokens[random() % tokens.size()] = fresh();
    } else {
      for (int half = 0; half < 2; ++half) {
        for (const Token token : real[random() % real.size()].tokens) {
          if (random() % 2 == 0) tokens.push_back(token);
        }
        tokens.push_back(fresh());
      }
    }
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    const auto step = std::chrono::duration_cast<Micros>(kWindow) / kLargeWindow;
    titles.push_back({std::move(tokens), Time(step * static_cast<int64_t>(i))});
  }
  return titles;
}

struct Run {
  double seconds = 0;
  size_t pairs = 0;
  double bytes_each = 0;
  double longest_expiry = 0;
};

// Each title is looked up and then kept, and its lead too where `lead_floor` is set. Measured from
// title `first` on.
Run RunIndex(const std::vector<Title>& titles, double threshold, size_t first = 0,
             double lead_floor = 0, std::chrono::hours window = kWindow) {
  WindowIndex index({.floor = threshold, .lead_floor = lead_floor});
  ProbeScratch scratch;
  std::vector<Match> matches;
  Run run;
  double begin = ThreadSeconds();
  for (size_t i = 0; i < titles.size(); ++i) {
    if (i == first) begin = ThreadSeconds();
    const Title& title = titles[i];
    matches.clear();
    const TokenSet& lead = lead_floor > 0 ? title.lead : kNothing;
    if (const auto edge = index.EdgeAt(title.arrival - window)) {
      index.FindSimilar(title.tokens, index.floor_bounds(), *edge, scratch, matches);
      if (lead_floor > 0) {
        index.FindSimilarLead(lead, index.lead_floor_bounds(), *edge, scratch, matches);
      }
    }
    run.pairs += matches.size();
    index.Append({static_cast<int64_t>(i + 1), title.arrival, 0, 0, 0, title.tokens, lead, {}});
    if (i % 100 != 0) continue;
    const double expiry = ThreadSeconds();
    index.Expire(title.arrival - window);
    run.longest_expiry = std::max(run.longest_expiry, ThreadSeconds() - expiry);
  }
  run.seconds = ThreadSeconds() - begin;
  run.bytes_each = static_cast<double>(index.bytes()) / static_cast<double>(index.size());
  return run;
}

// The floor: prefix filter by standard containers, as a first version would have it.
Run RunPlain(const std::vector<Title>& titles, double threshold) {
  const Bounds bounds(threshold);
  std::unordered_map<Token, std::vector<uint32_t>> holders;
  std::vector<uint32_t> seen(titles.size(), UINT32_MAX);
  Run run;
  const double begin = ThreadSeconds();
  for (uint32_t i = 0; i < titles.size(); ++i) {
    const TokenSet& tokens = titles[i].tokens;
    const uint32_t prefix = bounds.PrefixLength(static_cast<uint32_t>(tokens.size()));
    for (uint32_t p = 0; p < prefix; ++p) {
      std::vector<uint32_t>& list = holders[tokens[p]];
      for (auto at = list.rbegin(); at != list.rend(); ++at) {
        if (titles[*at].arrival < titles[i].arrival - kWindow) break;
        if (seen[*at] == i) continue;
        seen[*at] = i;
        const TokenSet& other = titles[*at].tokens;
        const double similarity =
            Jaccard(Overlap(tokens, other), static_cast<uint32_t>(tokens.size()),
                    static_cast<uint32_t>(other.size()));
        if (similarity >= threshold) ++run.pairs;
      }
    }
    for (uint32_t p = 0; p < prefix; ++p) holders[tokens[p]].push_back(i);
  }
  run.seconds = ThreadSeconds() - begin;
  return run;
}

struct Leg {
  const char* name;
  std::function<Run()> run;
  size_t documents;
  std::vector<double> seconds{};
  Run last{};
};

void Print(const Leg& leg) {
  std::printf("%-34s %12.0f %10zu", leg.name,
              static_cast<double>(leg.documents) / Median(leg.seconds), leg.last.pairs);
  if (leg.last.bytes_each > 0) std::printf(" %10.0f", leg.last.bytes_each);
  if (leg.last.longest_expiry > 0) std::printf(" %12.3f", 1e3 * leg.last.longest_expiry);
  std::printf("\n");
}

std::vector<Title> ReadTitles() {
  const TextRules rules = LoadTextRules().value();
  std::vector<Title> titles;
  for (const test::NewsItem& item : test::ReadNews("stream-2026-02a.jsonl.gz")) {
    const Time last = titles.empty() ? item.publish_time : titles.back().arrival;
    Fingerprint print = rules.Of(item.title, item.snippet, "");
    titles.push_back(
        {std::move(print.title), std::max(last, item.publish_time), std::move(print.lead)});
  }
  return titles;
}

constexpr double kPeersThreshold = 0.8;
constexpr std::chrono::hours kWholeStream{24 * 365};

void Dump(const std::vector<Title>& titles, const std::string& folder) {
  std::ofstream tokens(folder + "/tokens");
  std::ofstream pairs(folder + "/pairs");
  WindowIndex index({.floor = kPeersThreshold});
  ProbeScratch scratch;
  for (size_t i = 0; i < titles.size(); ++i) {
    for (const Token token : titles[i].tokens) tokens << token << ' ';
    tokens << '\n';
    std::vector<Match> matches;
    if (const auto edge = index.EdgeAt(titles.front().arrival)) {
      index.FindSimilar(titles[i].tokens, index.floor_bounds(), *edge, scratch, matches);
    }
    for (const Match& match : matches) pairs << index.seq(match.ref) - 1 << ' ' << i << '\n';
    index.Append(
        {static_cast<int64_t>(i + 1), titles[i].arrival, 0, 0, 0, titles[i].tokens, {}, {}});
  }
}

void BenchScan() {
  constexpr size_t kVectors = 100'000;
  constexpr size_t kDimensions = 384;
  std::mt19937_64 random(1);
  std::vector<int8_t> vectors(kVectors * kDimensions);
  for (int8_t& value : vectors) value = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
  std::vector<int32_t> dots(kVectors);
  std::vector<int32_t> plain(kVectors);
  DotAll(Kernel::kScalar, vectors.data(), vectors.data(), kDimensions, plain);
  for (const Kernel kernel : {Kernel::kScalar, Kernel::kAvx2, Kernel::kAvx512Vnni}) {
    if (!IsSupported(kernel)) continue;
    std::vector<double> seconds;
    for (int round = 0; round < 2 * kRounds; ++round) {
      const double begin = ThreadSeconds();
      DotAll(kernel, vectors.data(), vectors.data(), kDimensions, dots);
      seconds.push_back(ThreadSeconds() - begin);
    }
    std::printf("100,000 vectors of 384, %-13s %8.2f ms%s\n", NameOf(kernel), 1e3 * Median(seconds),
                dots == plain ? "" : ", WRONG");
  }
}

void BenchLarge(const std::vector<Title>& real) {
  const std::vector<Title> large = MakeLarge(real);
  for (const double threshold : {0.8, 0.5}) {
    const std::string name =
        "window of 1,000,000, t = ." + std::to_string(static_cast<int>(threshold * 10));
    Leg leg{name.c_str(), {}, kMeasured};
    leg.last = RunIndex(large, threshold, kLargeWindow);
    leg.seconds = {leg.last.seconds};
    Print(leg);
  }
}

int Main(int argc, char** argv) {
  const double begin = ThreadSeconds();
  const std::vector<Title> real = ReadTitles();
  if (real.empty()) {
    std::printf("not run: WINNOW_DATA holds no news\n");
    return 0;
  }
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "--dump" && argc == 3) {
    Dump(real, argv[2]);
    return 0;
  }
  if (verb == "--whole") {
    const Run run = RunIndex(real, kPeersThreshold, 0, 0, kWholeStream);
    std::printf("%.0f %zu %.0f\n", static_cast<double>(real.size()) / run.seconds, run.pairs,
                run.bytes_each);
    return 0;
  }
  if (verb == "--large") {
    BenchLarge(real);
    return 0;
  }
  std::printf("reading, normalising and tokens: %.1f us a title and lead\n",
              1e6 * (ThreadSeconds() - begin) / static_cast<double>(real.size()));
  BenchScan();
  const std::vector<Title> stream = Repeat(real);
  std::vector<Leg> legs = {
      {"titles 24 h, t = .8", [&] { return RunIndex(stream, 0.8); }, stream.size()},
      {"titles 24 h, t = .8 again (A/A)", [&] { return RunIndex(stream, 0.8); }, stream.size()},
      {"titles 24 h, t = .8, plain", [&] { return RunPlain(stream, 0.8); }, stream.size()},
      {"titles 24 h, t = .5", [&] { return RunIndex(stream, 0.5); }, stream.size()},
      {"titles 24 h, t = .5, plain", [&] { return RunPlain(stream, 0.5); }, stream.size()},
      {"titles .8 and leads .8, 24 h", [&] { return RunIndex(stream, 0.8, 0, 0.8); },
       stream.size()},
      {"titles .5 and leads .6, 24 h", [&] { return RunIndex(stream, 0.5, 0, 0.6); },
       stream.size()},
  };
  for (int round = -1; round < kRounds; ++round) {  // the first warms up
    for (Leg& leg : legs) {
      leg.last = leg.run();
      if (round >= 0) leg.seconds.push_back(leg.last.seconds);
    }
  }
  std::printf("%-34s %12s %10s %10s %12s\n", "medians of 5 rounds", "documents/s", "pairs",
              "bytes each", "expiry ms");
  for (const Leg& leg : legs) Print(leg);
  std::printf("A/A control                        %12.2f\n",
              Median(legs[1].seconds) / Median(legs[0].seconds));
  BenchLarge(real);
  return 0;
}

}  // namespace
}  // namespace winnow::dedup::index

int main(int argc, char** argv) { return winnow::dedup::index::Main(argc, argv); }
