// Start of dedup on a stored window: from the target's start to the first CheckDocument that is
// answered, end to end from a PostgreSQL that is already running. Also the time until health says
// SERVING, processor time (the clock is shared with whatever else the machine does) and the peak of
// resident memory.
//
//   bench_dedup_load [ENTRIES [ROUNDS [calibrated]]]   1,000,000, 3, and the published rules
//
// Titles and leads are halves of two real ones (WINNOW_DATA), each with a word of its own; one in
// ten repeats the title of a recent entry, as another channel does.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "services/collector/service.h"
#include "services/dedup/service.h"
#include "services/dedup/text/embedded_text_rules.h"
#include "services/platform/postgres/server/private_postgres.h"
#include "services/platform/postgres/session/binary_array.h"
#include "services/platform/process/log.h"
#include "tests/bench/cpu.h"
#include "tests/support/news/news_stream.h"
#include "tests/support/process/temp_dir.h"
#include "tests/support/process/test_platform.h"
#include "winnow/dedup/v1/dedup_service.grpc.pb.h"

namespace winnow::bench {
namespace {

using dedup::v1::DedupService;
using pg::BinaryArray;
using std::chrono::steady_clock;

constexpr int64_t kRowsAtOnce = 5'000;
constexpr std::chrono::hours kSpan{23};
constexpr std::chrono::seconds kLoadLimit{300};

struct Text {
  std::string title;
  std::string lead;
};

struct Entry {
  Text text;
  std::string channel;
  int64_t root = 0;
};

std::vector<Text> ReadTexts() {
  const dedup::TextRules rules = dedup::LoadTextRules().value();
  std::vector<Text> texts;
  for (const test::NewsItem& item : test::ReadNews("stream-2026-02a.jsonl.gz")) {
    texts.push_back({rules.normalizer().Normalize(item.title), rules.NormalizedLead(item.snippet)});
  }
  return texts;
}

// Entries as a day of a busy stream would have them.
class Entries {
 public:
  explicit Entries(std::vector<Text> real) : real_(std::move(real)) {}

  Entry Next() {
    Entry entry;
    entry.channel = "outlet-" + std::to_string(random_() % 40);
    entry.root = ++seq_;
    if (!recent_.empty() && random_() % 10 == 0) {
      const Entry& repeated = recent_[random_() % recent_.size()];
      entry.text = repeated.text;
      entry.root = repeated.root;
    } else {
      entry.text.title = Mix(&Text::title);
      entry.text.lead = Mix(&Text::lead);
    }
    if (recent_.size() < kRecent) {
      recent_.push_back(entry);
    } else {
      recent_[static_cast<size_t>(seq_) % kRecent] = entry;
    }
    return entry;
  }

 private:
  static constexpr size_t kRecent = 50'000;

  // About half of the words of two, and one that nobody else has. Empty where both are.
  std::string Mix(std::string Text::*part) {
    std::string mixed;
    for (int half = 0; half < 2; ++half) {
      const std::string& from = real_[random_() % real_.size()].*part;
      for (size_t at = 0; at < from.size();) {
        const size_t end = std::min(from.find(' ', at), from.size());
        if (random_() % 2 == 0) mixed.append(from, at, end - at).push_back(' ');
        at = end + 1;
      }
    }
    if (!mixed.empty()) mixed += std::to_string(random_() % 1'000'000);
    return mixed;
  }

  const std::vector<Text> real_;
  std::mt19937_64 random_{1};
  std::vector<Entry> recent_;
  int64_t seq_ = 0;
};

constexpr pg::Statement kInsert = {
    "bench.insert_entries",
    "INSERT INTO dedup.entries (namespace, seq, document_id, channel, title, lead, canonical_url,"
    " arrival_time, root_seq) SELECT 'default', seq, 'd' || seq, channel, title, lead,"
    " 'https://news.example/' || seq, arrival, root FROM unnest($1::bigint[], $2::text[],"
    " $3::text[], $4::text[], $5::timestamptz[], $6::bigint[])"
    " AS given(seq, channel, title, lead, arrival, root)"};
constexpr pg::Statement kAdvance = {
    "bench.advance",
    "INSERT INTO dedup.log_streams (stream, head, epoch, last_arrival)"
    " SELECT 'default', max(seq), 'none', max(arrival_time) FROM dedup.entries"};

// The calibrated rules find by leads as well, which are three times as much to index as titles.
constexpr pg::Statement kCalibrate = {
    "bench.calibrate",
    "INSERT INTO dedup.policies (namespace, version, window_us, token_threshold, candidate_floor,"
    " chain_floor, same_channel, rule_mode)"
    " VALUES ('default', 1, 86400000000, 0.8, 0.5, 0.5, false, 2)"};

void Fill(pg::Pool& pool, int64_t entries, bool is_calibrated) {
  std::vector<Text> real = ReadTexts();
  if (real.empty()) {
    std::printf("not run: WINNOW_DATA holds no news\n");
    std::exit(0);
  }
  Entries source(std::move(real));
  const Time begin = SystemClock().Now() - kSpan;
  const Micros step = std::chrono::duration_cast<Micros>(kSpan) / entries;
  for (int64_t seq = 1; seq <= entries;) {
    BinaryArray seqs(BinaryArray::kBigint), channels(BinaryArray::kText),
        titles(BinaryArray::kText), leads(BinaryArray::kText), times(BinaryArray::kTimestamptz),
        roots(BinaryArray::kBigint);
    for (int64_t i = 0; i < kRowsAtOnce && seq <= entries; ++i, ++seq) {
      const Entry entry = source.Next();
      seqs.AddNumber(seq);
      channels.AddText(entry.channel);
      titles.AddText(entry.text.title);
      leads.AddText(entry.text.lead);
      times.AddTime(begin + step * seq);
      roots.AddNumber(entry.root);
    }
    OrExit(pool.Transaction(Soon(), [&](pg::Session& session) {
      session.Execute(kInsert, seqs, channels, titles, leads, times, roots);
      return OkStatus();
    }));
  }
  OrExit(pool.Transaction(Soon(), [&](pg::Session& session) {
    session.Execute(kAdvance);
    if (is_calibrated) session.Execute(kCalibrate);
    return OkStatus();
  }));
}

// Resident memory of this process in MB: now ("VmRSS:") or at its peak ("VmHWM:").
double MemoryMegabytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name;) {
    double kilobytes = 0;
    if (name == field && status >> kilobytes) return kilobytes / 1024;
  }
  return 0;
}

void ForgetMemoryPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

bool IsAnswered(DedupService::Stub& stub) {
  dedup::v1::CheckDocumentRequest request;
  request.mutable_document()->set_channel("another");
  request.mutable_document()->set_title("호수공원 산책로가 새 단장을 마치고 문을 열었다");
  dedup::v1::CheckDocumentResponse response;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(1));
  return stub.CheckDocument(&context, request, &response).ok();
}

struct Round {
  double seconds = 0;
  Cpu cpu;
  double before = 0;  // MB
  double after = 0;
  double peak = 0;
};

Round RunRound(const std::string& url, pid_t postmaster) {
  Round round;
  round.before = MemoryMegabytes("VmRSS:");
  ForgetMemoryPeak();
  test::TestPlatform platform(url);
  const Cpu before = CpuSoFar(postmaster);
  const auto begin = steady_clock::now();
  platform.Serve(
      {collector::MakeCollectorTarget(platform.parts()), dedup::MakeDedupTarget(platform.parts())},
      /*with_events=*/false);
  {
    const auto stub = DedupService::NewStub(platform.channel());
    while (!IsAnswered(*stub)) {
      if (steady_clock::now() - begin > kLoadLimit) OrExit(Internal("the window is not loaded"));
    }
  }
  round.seconds = Seconds(steady_clock::now() - begin);
  const Cpu after = CpuSoFar(postmaster);
  round.cpu = {after.self - before.self, after.postgres - before.postgres};
  round.after = MemoryMegabytes("VmRSS:");
  round.peak = MemoryMegabytes("VmHWM:");
  return round;
}

void Run(int64_t entries, int rounds, bool is_calibrated) {
  test::TempDir dir("bench");
  pg::PrivatePostgresOptions options;
  options.data_dir = dir.path();
  auto server = pg::PrivatePostgres::Start(options);
  OrExit(server.status());
  const std::string url = (*server)->connection_url();
  {
    test::TestPlatform platform(url);
    OrExit(pg::Migrate(platform.pool(), collector::CollectorMigrations(), Soon()));
    OrExit(pg::Migrate(platform.pool(), dedup::DedupMigrations(), Soon()));
    const auto begin = steady_clock::now();
    Fill(platform.pool(), entries, is_calibrated);
    std::printf("%lld entries stored in %.1f s\n", static_cast<long long>(entries),
                Seconds(steady_clock::now() - begin));
  }
  std::printf("%-8s %12s %14s %14s %10s %10s %10s\n", "round", "first answer", "own CPU s",
              "postgres CPU s", "before MB", "after MB", "peak MB");
  for (int i = 1; i <= rounds; ++i) {
    const Round round = RunRound(url, (*server)->postmaster_pid());
    std::printf("%-8d %10.2f s %14.2f %14.2f %10.0f %10.0f %10.0f\n", i, round.seconds,
                round.cpu.self, round.cpu.postgres, round.before, round.after, round.peak);
    std::fflush(stdout);
  }
  OrExit((*server)->Stop());
}

}  // namespace
}  // namespace winnow::bench

int main(int argc, char** argv) {
  winnow::log::SetLevel(winnow::log::Level::kError);
  winnow::bench::Run(argc > 1 ? std::atoll(argv[1]) : 1'000'000, argc > 2 ? std::atoi(argv[2]) : 3,
                     argc > 3 && std::string_view(argv[3]) == "calibrated");
}
