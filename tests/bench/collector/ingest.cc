// IngestItems, durable and through gRPC over loopback, against the same rows by bare unnest inserts
// of 1,000, in one run: rounds of bare, ingest, bare again (the A/A control), medians.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "services/collector/service.h"
#include "services/platform/postgres/server/private_postgres.h"
#include "tests/bench/collector/ingest_rows.h"
#include "tests/bench/cpu.h"
#include "tests/support/process/temp_dir.h"
#include "tests/support/process/test_platform.h"

namespace winnow::bench {
namespace {

using std::chrono::steady_clock;

constexpr int kRounds = 5;
constexpr int kRows = 20'000;  // a leg
constexpr std::chrono::seconds kLimit(60);

Deadline Soon() { return steady_clock::now() + kLimit; }

void OrExit(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

double RunBare(pg::Pool& pool, const std::vector<collector::Item>& rows) {
  const auto begin = steady_clock::now();
  for (size_t from = 0; from < rows.size(); from += 1'000) {
    OrExit(InsertBare(pool, std::span(rows).subspan(from, 1'000), Soon()));
  }
  return Seconds(steady_clock::now() - begin);
}

// A client that costs little: it sends what was serialised before, and counts the answers' bytes.
double RunIngest(grpc::GenericStub& stub, const std::vector<grpc::ByteBuffer>& requests) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kLimit);
  grpc::CompletionQueue queue;
  const auto begin = steady_clock::now();
  const auto stream =
      stub.PrepareCall(&context, "/winnow.collector.v1.CollectorService/IngestItems", &queue);
  enum Tag : intptr_t { kStart = 1, kWrite, kRead, kFinish };
  const auto tag = [](Tag t) {
    return reinterpret_cast<void*>(t);  // NOLINT(performance-no-int-to-ptr): gRPC's tags
  };
  size_t written = 0;
  size_t read = 0;
  grpc::ByteBuffer answer;
  grpc::Status status;
  const auto write = [&] {
    if (written == requests.size()) return;
    grpc::WriteOptions options;
    options.set_buffer_hint();
    if (written + 1 == requests.size()) {
      stream->WriteLast(requests[written], {}, tag(kWrite));
    } else {
      stream->Write(requests[written], options, tag(kWrite));
    }
  };
  stream->StartCall(tag(kStart));
  void* got = nullptr;
  bool ok = false;
  while (queue.Next(&got, &ok)) {
    const auto event = static_cast<Tag>(reinterpret_cast<intptr_t>(got));
    if (event == kFinish) break;
    if (event == kStart) {
      write();
      stream->Read(&answer, tag(kRead));
    } else if (event == kWrite && ok) {
      ++written;
      write();
    } else if (event == kRead && ok) {
      ++read;
      stream->Read(&answer, tag(kRead));
    } else if (event == kRead) {
      stream->Finish(&status, tag(kFinish));
    }
  }
  const double seconds = Seconds(steady_clock::now() - begin);
  if (!status.ok() || read != requests.size()) {
    std::fprintf(stderr, "the stream ended after %zu of %zu answers: %s\n", read, requests.size(),
                 status.error_message().c_str());
    std::exit(1);
  }
  return seconds;
}

void Run() {
  test::TempDir dir("bench");
  pg::PrivatePostgresOptions options;
  options.data_dir = dir.path();
  auto server = pg::PrivatePostgres::Start(options);
  OrExit(server.status());
  const pid_t postmaster = (*server)->postmaster_pid();
  Leg bare(kRows), ingest(kRows), bare_again(kRows);
  {
    test::TestPlatform platform((*server)->connection_url());
    OrExit(pg::Migrate(platform.pool(), collector::CollectorMigrations(), Soon()));
    OrExit(MakeBareTable(platform.pool(), Soon()));
    platform.Serve({collector::MakeCollectorTarget(platform.parts())}, /*with_events=*/false);
    grpc::GenericStub stub(
        grpc::CreateChannel(platform.address(), grpc::InsecureChannelCredentials()));
    for (int round = 0; round <= kRounds; ++round) {
      if (round == 1) bare = ingest = bare_again = Leg(kRows);  // the first round warms up
      const auto rows = MakeRows(3 * round, kRows);
      const auto requests = ToRequests(MakeRows(3 * round + 1, kRows));
      const auto more_rows = MakeRows(3 * round + 2, kRows);
      bare.Measure(postmaster, [&] { return RunBare(platform.pool(), rows); });
      ingest.Measure(postmaster, [&] { return RunIngest(stub, requests); });
      bare_again.Measure(postmaster, [&] { return RunBare(platform.pool(), more_rows); });
    }
  }
  std::printf("%-32s %8s %12s %12s\n", "medians of 5 rounds", "rows/s", "own us/row", "pg us/row");
  bare.Print("bare unnest-1000");
  bare_again.Print("bare unnest-1000 again");
  ingest.Print("IngestItems, server and client");
  std::printf("A/A control        %.2f\n", bare_again.RowsPerSecond() / bare.RowsPerSecond());
  std::printf("IngestItems / bare %.2f   target >= 0.60\n",
              ingest.RowsPerSecond() / bare.RowsPerSecond());
  OrExit((*server)->Stop());
}

}  // namespace
}  // namespace winnow::bench

int main() { winnow::bench::Run(); }
