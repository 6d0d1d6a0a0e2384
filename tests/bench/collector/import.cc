// `winnow import` into a serving process with its private PostgreSQL, through to every decision,
// against the same rows by bare unnest inserts of 1,000, in one run: rounds of bare, import, bare
// again (the A/A control), medians. The import also decides duplicates and fills the feed.
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "services/app/import/import_run.h"
#include "services/app/serve/config_options.h"
#include "services/app/serve/serving.h"
#include "services/collector/api/item_convert.h"
#include "services/platform/base/timestamp.h"
#include "tests/bench/collector/ingest_rows.h"
#include "tests/support/process/temp_dir.h"
#include "tests/support/sync/eventually.h"

namespace winnow::bench {
namespace {

using std::chrono::steady_clock;

constexpr int kRounds = 5;
constexpr int kRows = 15'000;  // a leg

Deadline Soon() { return steady_clock::now() + std::chrono::minutes(2); }

void OrExit(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

double Seconds(steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double RunBare(pg::Pool& pool, const std::vector<collector::Item>& rows) {
  const auto begin = steady_clock::now();
  for (size_t from = 0; from < rows.size(); from += 1'000) {
    OrExit(InsertBare(pool, std::span(rows).subspan(from, 1'000), Soon()));
  }
  return Seconds(steady_clock::now() - begin);
}

// The rows as a file that import reads.
void WriteLines(const std::string& path, const std::vector<collector::Item>& rows) {
  std::ofstream file(path, std::ios::trunc);
  for (const collector::Item& row : rows) {
    google::protobuf::Struct line;
    auto& fields = *line.mutable_fields();
    fields["url"].set_string_value(row.url);
    fields["title"].set_string_value(row.title);
    fields["snippet"].set_string_value(row.snippet);
    fields["channel"].set_string_value(row.channel);
    fields["channel_name"].set_string_value(row.channel_name);
    for (const std::string& category : row.source_categories) {
      fields["categories"].mutable_list_value()->add_values()->set_string_value(category);
    }
    fields["published_at"].set_string_value(FormatTime(row.publish_time.value()));
    std::string text;
    if (!google::protobuf::util::MessageToJsonString(line, &text).ok()) std::exit(1);
    file << text << '\n';
  }
}

double RunImport(const app::Remote& remote, const std::string& path, int round) {
  const app::Interrupt& interrupt = app::Interrupt::Install();
  auto source = app::ByteSource::Open(path, interrupt);
  OrExit(source.status());
  app::ImportSettings settings;
  settings.title = "round " + std::to_string(round);
  settings.item_namespace = "round-" + std::to_string(round);
  app::Checkpoint start;
  start.began = SystemClock().Now();
  const auto begin = steady_clock::now();
  app::ImportRun run(settings, remote, interrupt, **source, start);
  OrExit(run.Run());
  const double seconds = Seconds(steady_clock::now() - begin);
  const app::Tally tally = run.books().tally;
  if (tally.lines != kRows || tally.refused() > 0 || tally.undecided() > 0) {
    std::fprintf(stderr, "the books do not add up\n");
    std::exit(1);
  }
  return seconds;
}

// An import ends with the last decision; the feed goes on behind it, and would slow the next leg.
// A decision's events are there before those of its item are gone: one look at both is enough.
void AwaitFeed(pg::Pool& pool) {
  constexpr pg::Statement kLeft{
      "bench.events_left",
      "SELECT EXISTS (SELECT FROM collector.outbox) OR EXISTS (SELECT FROM dedup.outbox)"};
  const bool done = test::Eventually(
      [&] {
        const StatusOr<bool> left =
            pool.Statements(Soon(), [&](pg::Session& session) -> StatusOr<bool> {
              return session.Execute(kLeft)[0][0].as<bool>();
            });
        OrExit(left.status());
        return !*left;
      },
      std::chrono::minutes(2));
  if (!done) OrExit(DeadlineExceeded("the feed did not catch up"));
}

void Run() {
  test::TempDir dir("bench-import");
  app::ConfigOptions options;
  options.data_dir = dir.path() + "/data";
  options.listen = "127.0.0.1:0";
  options.metrics = "off";
  auto config = app::LoadConfig(options);
  OrExit(config.status());
  app::Serving serving(*config, "");
  OrExit(serving.Start());
  OrExit(MakeBareTable(serving.writes(), Soon()));
  app::RemoteOptions to;
  to.address = serving.address();
  auto remote = app::Remote::Connect(to);
  OrExit(remote.status());

  std::vector<double> bare, import, bare_again;
  for (int round = 0; round <= kRounds; ++round) {  // the first warms up
    const std::string path = dir.path() + "/items.jsonl";
    WriteLines(path, MakeRows(10 * round + 1, kRows));
    const double first = RunBare(serving.writes(), MakeRows(10 * round, kRows));
    const double imported = RunImport(*remote, path, round);
    AwaitFeed(serving.writes());
    const double second = RunBare(serving.writes(), MakeRows(10 * round + 2, kRows));
    if (round == 0) continue;
    bare.push_back(first);
    import.push_back(imported);
    bare_again.push_back(second);
  }
  const auto rate = [](const std::vector<double>& seconds) { return kRows / Median(seconds); };
  std::printf("%-34s %10s\n", "medians of 5 rounds", "rows/s");
  std::printf("%-34s %10.0f\n", "bare unnest-1000", rate(bare));
  std::printf("%-34s %10.0f\n", "bare unnest-1000 again (A/A)", rate(bare_again));
  std::printf("%-34s %10.0f\n", "winnow import, until decided", rate(import));
  std::printf("%-34s %10.2f\n", "A/A control", rate(bare_again) / rate(bare));
  std::printf("%-34s %10.2f\n", "import / bare", rate(import) / rate(bare));
  OrExit(serving.Stop());
}

}  // namespace
}  // namespace winnow::bench

int main() { winnow::bench::Run(); }
