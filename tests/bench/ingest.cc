// IngestItems, durable and through gRPC over loopback, against the same rows by bare unnest inserts
// of 1,000, in one run: rounds of bare, ingest, bare again (the A/A control), medians.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "services/collector/service.h"
#include "services/platform/postgres/private_postgres.h"
#include "tests/bench/ingest_rows.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_platform.h"

namespace winnow::bench {
namespace {

using std::chrono::steady_clock;

constexpr int kRounds = 5;
constexpr int kRows = 30'000;  // a leg
constexpr std::chrono::seconds kLimit(60);

Deadline Soon() { return steady_clock::now() + kLimit; }

void OrExit(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

double Seconds(steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// User and system time of this process so far: server and client of the ingest leg.
double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
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

// A client that costs little: it sends what was serialised before, and counts the answers' bytes.
double RunIngest(grpc::GenericStub& stub, const std::vector<grpc::ByteBuffer>& requests) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kLimit);
  grpc::CompletionQueue queue;
  const auto begin = steady_clock::now();
  const auto stream =
      stub.PrepareCall(&context, "/winnow.collector.v1.CollectorService/IngestItems", &queue);
  enum Tag : intptr_t { kStart = 1, kWrite, kRead, kFinish };
  const auto tag = [](Tag t) { return reinterpret_cast<void*>(t); };
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

struct Legs {
  std::vector<double> bare, ingest, bare_again, cpu;
};

void Print(const Legs& legs) {
  const auto rate = [](const std::vector<double>& seconds) { return kRows / Median(seconds); };
  std::printf("%-34s %10s\n", "medians of 5 rounds", "rows/s");
  std::printf("%-34s %10.0f\n", "bare unnest-1000", rate(legs.bare));
  std::printf("%-34s %10.0f\n", "bare unnest-1000 again (A/A)", rate(legs.bare_again));
  std::printf("%-34s %10.0f\n", "IngestItems through gRPC", rate(legs.ingest));
  std::printf("A/A control                        %10.2f\n",
              rate(legs.bare_again) / rate(legs.bare));
  std::printf("IngestItems / bare                 %10.2f   target >= 0.60\n",
              rate(legs.ingest) / rate(legs.bare));
  std::printf("CPU of server and client, us/item  %10.1f\n", 1e6 * Median(legs.cpu) / kRows);
}

void Run() {
  test::TempDir dir("bench");
  pg::PrivatePostgresOptions options;
  options.data_dir = dir.path();
  auto server = pg::PrivatePostgres::Start(options);
  OrExit(server.status());
  const std::string url = (*server)->connection_url();
  {
    test::TestPlatform platform(url);
    OrExit(pg::Migrate(platform.pool(), collector::CollectorMigrations(), Soon()));
    OrExit(MakeBareTable(platform.pool(), Soon()));
    platform.Serve({collector::MakeCollectorTarget(platform.parts())}, /*with_events=*/false);
    grpc::GenericStub stub(
        grpc::CreateChannel(platform.address(), grpc::InsecureChannelCredentials()));
    Legs legs;
    for (int round = -1; round < kRounds; ++round) {  // the first warms up
      const int seed = 10 * round;
      const double bare = RunBare(platform.pool(), MakeRows(seed, kRows));
      const auto requests = ToRequests(MakeRows(seed + 1, kRows));
      const double cpu = CpuSeconds();
      const double ingest = RunIngest(stub, requests);
      const double cpu_used = CpuSeconds() - cpu;
      const double bare_again = RunBare(platform.pool(), MakeRows(seed + 2, kRows));
      if (round < 0) continue;
      legs.bare.push_back(bare);
      legs.ingest.push_back(ingest);
      legs.cpu.push_back(cpu_used);
      legs.bare_again.push_back(bare_again);
    }
    Print(legs);
  }
  OrExit((*server)->Stop());
}

}  // namespace
}  // namespace winnow::bench

int main() { winnow::bench::Run(); }
