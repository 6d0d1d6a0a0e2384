// Classification beside its controls, in one run: verdicts committed through a gRPC stream against
// the same rows by bare unnest inserts of 1,000; "5 filtered" of a video against HGETALL and
// parsing in Redis; swap and rollback of a large run under readers, overrides kept.
// bench_classification [commit|list|swap]; WINNOW_BENCH_COMMENTS: comments of the large video,
// 1,000,000 by default.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>

#include "services/classification/api/convert.h"
#include "services/classification/api/handlers.h"
#include "services/classification/projection/projection_worker.h"
#include "services/classification/service.h"
#include "services/platform/base/format/json_reader.h"
#include "services/platform/base/uuid.h"
#include "services/platform/postgres/server/admin.h"
#include "services/platform/postgres/server/private_postgres.h"
#include "tests/bench/cpu.h"
#include "tests/bench/measure.h"
#include "tests/support/process/temp_dir.h"
#include "tests/support/process/test_platform.h"
#include "tests/support/redis/redis.h"
#include "winnow/classification/v1/classification_service.grpc.pb.h"

namespace winnow::classification {
namespace {

using bench::Median;
using bench::OrExit;
using bench::Seconds;
using bench::Soon;
using std::chrono::steady_clock;

constexpr int kRounds = 5;
constexpr int kCommitted = 20'000;  // verdicts of a leg
constexpr int kListed = 100'000;    // comments of the listed video
constexpr int kSwaps = 1'000;

const char* const kTable =
    "CREATE TABLE bare_verdicts (run bigint NOT NULL, comment bigint NOT NULL, status smallint, "
    "resolved smallint, failure smallint NOT NULL, source smallint NOT NULL, overridden boolean "
    "NOT NULL DEFAULT FALSE, score real NOT NULL, content_hash bigint NOT NULL, sort_time "
    "timestamptz NOT NULL, reason text NOT NULL, PRIMARY KEY (run, comment)); "
    "CREATE INDEX bare_newest ON bare_verdicts (run, resolved, sort_time DESC, comment DESC) WHERE "
    "resolved IS NOT NULL; CREATE INDEX bare_highest ON bare_verdicts (run, resolved, score DESC, "
    "comment DESC) WHERE resolved IS NOT NULL";
constexpr pg::Statement kBare{
    "bench.bare_verdicts",
    "INSERT INTO bare_verdicts (run, comment, status, resolved, failure, source, score, "
    "content_hash, sort_time, reason) SELECT $1, u, 1, 1, 0, 4, 0, u, now(), '' "
    "FROM unnest($2::bigint[]) AS u"};

// A PostgreSQL that syncs, unlike the tests'.
struct Server {
  test::TempDir dir{"bench"};
  std::unique_ptr<pg::PrivatePostgres> postgres;
  int databases = 0;

  Server() {
    pg::PrivatePostgresOptions options;
    options.data_dir = dir.path();
    auto started = pg::PrivatePostgres::Start(options);
    OrExit(started.status());
    postgres = *std::move(started);
  }
  static Server& Instance() {
    static Server server;
    return server;
  }
};

std::string NewDatabase() {
  Server& server = Server::Instance();
  const std::string name = "bench_" + std::to_string(++server.databases);
  OrExit(pg::CreateDatabase(server.postgres->UrlOf("postgres"), name, "template1"));
  std::string url = server.postgres->UrlOf(name);
  Metrics metrics;
  pg::Pool pool({.name = "setup", .url = url}, metrics);
  OrExit(pg::Migrate(pool, ClassificationMigrations(), Soon()));
  return url;
}

double P99(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() * 99 / 100];
}

// The service as its parts, on a database of its own.
struct World {
  const std::string url = NewDatabase();
  SystemClock clock;  // the served half sweeps by it too
  Metrics metrics;
  pg::Pool reads{{.name = "read", .url = url}, metrics};
  pg::Pool writes{{.name = "write", .url = url}, metrics};
  VerdictMetrics verdicts{metrics};
  StoreSet stores{reads, writes, clock, std::chrono::days(30)};
  StoreWatches watches{std::chrono::milliseconds(200)};
  RunWorker worker{{stores.leases, stores.runs, stores.comments, stores.requests,
                    stores.cached_policies, verdicts, nullptr},
                   {}};
  Handlers handlers{stores, worker, nullptr, watches, verdicts, Handlers::Options()};

  template <class Request, class Response>
  Response Do(StatusOr<Response> (Handlers::*handler)(const rpc::CallContext&, const Request&),
              const Request& request) {
    auto response = (handlers.*handler)(rpc::BackgroundCall(std::chrono::seconds(60)), request);
    OrExit(response.status());
    return *std::move(response);
  }

  void Import(const std::string& video, int count) {
    OrExit(stores.comments.TouchVideo(Soon(), {"default", video}));
    for (int begin = 0; begin < count; begin += 1000) {
      std::vector<Comment> comments(static_cast<size_t>(std::min(1000, count - begin)));
      for (size_t i = 0; i < comments.size(); ++i) {
        const int number = begin + static_cast<int>(i);
        comments[i].id = "UgyQbxEOl74hRc1x" + std::to_string(1'000'000 + number) + "AaABAg";
        comments[i].text = "comment " + std::to_string(number);
        comments[i].content_hash = static_cast<uint64_t>(number);
        comments[i].publish_time = clock.Now() + std::chrono::seconds(number);
      }
      OrExit(stores.comments.PutComments(Soon(), {"default", video}, comments).status());
    }
  }

  std::string NewRun(const std::string& video) {
    v1::StartRunRequest request;
    request.set_video_id(video);
    request.set_classifier("external");
    request.set_request_id(NewUuidV7(SystemClock().Now()));
    return Do(&Handlers::StartRun, request).run().id();
  }

  // Every tenth comment is filtered in run `turn` 0, others in the next.
  void Fill(const std::string& run, int count, int turn) {
    for (int begin = 0; begin < count; begin += 1000) {
      const v1::IngestVerdictsRequest request =
          Verdicts(run, begin, std::min(1000, count - begin), turn);
      const auto answers =
          handlers.IngestVerdicts(rpc::BackgroundCall(std::chrono::seconds(60)), {&request, 1});
      OrExit(answers.status());
      if ((*answers)[0].has_error()) OrExit(Internal((*answers)[0].error().message()));
    }
  }

  static v1::IngestVerdictsRequest Verdicts(const std::string& run, int begin, int count,
                                            int turn) {
    v1::IngestVerdictsRequest request;
    request.set_run_id(run);
    for (int i = begin; i < begin + count; ++i) {
      v1::Verdict& verdict = *request.mutable_verdicts()->add_verdicts();
      verdict.set_comment_id("UgyQbxEOl74hRc1x" + std::to_string(1'000'000 + i) + "AaABAg");
      verdict.set_status((i + turn) % 10 == 0 ? v1::COMMENT_STATUS_FILTERED
                                              : v1::COMMENT_STATUS_NORMAL);
      verdict.set_score(0.5F);
    }
    return request;
  }

  double Activate(const std::string& run) {
    v1::ActivateRunRequest request;
    request.set_run_id(run);
    const auto begin = steady_clock::now();
    Do(&Handlers::ActivateRun, request);
    return 1e3 * Seconds(steady_clock::now() - begin);
  }
  double Rollback(const std::string& run) {
    v1::RollbackRunRequest request;
    request.set_run_id(run);
    const auto begin = steady_clock::now();
    Do(&Handlers::RollbackRun, request);
    return 1e3 * Seconds(steady_clock::now() - begin);
  }
};

// A leg's time, and what it cost whom.
struct Leg {
  std::vector<double> rates, self, postgres;

  template <class Run>
  double Measure(Run&& run) {
    const pid_t postmaster = Server::Instance().postgres->postmaster_pid();
    const bench::Cpu before = bench::CpuSoFar(postmaster);
    rates.push_back(run());
    const bench::Cpu after = bench::CpuSoFar(postmaster);
    self.push_back(1e6 * (after.self - before.self) / kCommitted);
    postgres.push_back(1e6 * (after.postgres - before.postgres) / kCommitted);
    return rates.back();
  }
  void Print(const char* what) const {
    std::printf("%s: %.0f rows/s; CPU a row %.1f us of ours + %.1f of PostgreSQL\n", what,
                Median(rates), Median(self), Median(postgres));
  }
};

double RunBareInserts(World& world, int64_t run) {
  const auto begin = steady_clock::now();
  for (int64_t from = 0; from < kCommitted; from += 1000) {
    pg::Array comments;
    for (int64_t i = from; i < from + 1000; ++i) comments.Add(i);
    OrExit(world.writes.Transaction(Soon(), [&](pg::Session& session) {
      session.Execute(kBare, run, comments);
      return OkStatus();
    }));
  }
  return kCommitted / Seconds(steady_clock::now() - begin);
}

double RunStream(v1::ClassificationService::Stub& stub,
                 const std::vector<v1::IngestVerdictsRequest>& requests) {
  grpc::ClientContext context;
  const auto begin = steady_clock::now();
  const auto stream = stub.IngestVerdicts(&context);
  std::thread writer([&] {
    for (const auto& request : requests) stream->Write(request);
    stream->WritesDone();
  });
  v1::IngestVerdictsResponse answer;
  int64_t written = 0;
  while (stream->Read(&answer)) written += answer.ingested().written_count();
  writer.join();
  if (!stream->Finish().ok() || written != kCommitted) OrExit(Internal("verdicts were lost"));
  return kCommitted / Seconds(steady_clock::now() - begin);
}

void BenchCommit() {
  World world;
  world.Import("v", kCommitted);
  OrExit(world.writes.Statements(Soon(), [](pg::Session& session) {
    session.ExecuteText(kTable);
    return OkStatus();
  }));
  test::TestPlatform platform(world.url);
  std::vector<rpc::Target> targets;
  targets.push_back(MakeClassificationTarget(platform.parts()));
  platform.Serve(std::move(targets));
  auto stub = v1::ClassificationService::NewStub(platform.channel());
  std::vector<double> ratios, controls;
  Leg bare, ours, single;
  for (int round = 0; round < kRounds; ++round) {
    const auto insert = [&](int64_t run) {
      return bare.Measure([&] { return RunBareInserts(world, run); });
    };
    const auto deliver = [&](Leg& leg, int verdicts) {
      const std::string run = world.NewRun("v");
      std::vector<v1::IngestVerdictsRequest> requests;
      for (int begin = 0; begin < kCommitted; begin += verdicts) {
        requests.push_back(World::Verdicts(run, begin, verdicts, 0));
      }
      return leg.Measure([&] { return RunStream(*stub, requests); });
    };
    const double before = insert(2 * round);
    const double rate = deliver(ours, 1000);
    const double again = insert(2 * round + 1);
    deliver(single, 1);
    ratios.push_back(2 * rate / (before + again));
    controls.push_back(again / before);
  }
  bare.Print("bare unnest-1000");
  ours.Print("gRPC stream, 1,000 verdicts a message");
  single.Print("gRPC stream, 1 verdict a message");
  std::printf("commit of verdicts, gRPC stream: %.2fx of bare unnest-1000 (A/A %.2f)\n",
              Median(ratios), Median(controls));
  stub.reset();
  platform.Stop();
}

// What a program without an index does: all of the hash, parsed, five picked.
double ReadByHash(redis::Client& redis) {
  const auto begin = steady_clock::now();
  const auto reply = redis.Run(Soon(), {"HGETALL", "video:v:classification"});
  OrExit(reply.status());
  const auto pairs = reply->Pairs();
  OrExit(pairs.status());
  int found = 0;
  for (const auto& [id, value] : *pairs) {
    JsonReader reader(value);
    std::string status;
    reader.ReadObject([&](std::string_view name) {
      return name == "status" ? reader.ReadString(status) : reader.Skip();
    });
    if (status == "filtered" && ++found == 5) break;
  }
  return 1e6 * Seconds(steady_clock::now() - begin);
}

void BenchList() {
  World world;
  world.Import("v", kListed);
  const std::string run = world.NewRun("v");
  world.Fill(run, kListed, 0);
  world.Activate(run);
  test::RedisServer server;
  config::v1::Redis settings;
  settings.set_url(server.url());
  settings.set_connections(1);
  const auto redis = redis::Client::Make(settings, world.metrics);
  OrExit(redis.status());
  ProjectionWorker projection(world.stores.projections, world.stores.verdicts, **redis, world.clock,
                              {}, world.metrics);
  OrExit(projection.ProjectAll());
  v1::ListClassificationsRequest request;
  request.set_video_id("v");
  request.set_status(v1::COMMENT_STATUS_FILTERED);
  request.set_page_size(5);
  std::vector<double> ours;
  std::vector<double> hash;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 100; ++i) {
      const auto begin = steady_clock::now();
      world.Do(&Handlers::ListClassifications, request);
      ours.push_back(1e6 * Seconds(steady_clock::now() - begin));
    }
    hash.push_back(ReadByHash(**redis));
  }
  std::printf("5 filtered of %d: p50 %.0f us, p99 %.0f us; HGETALL and parse %.0f us, %.0fx\n",
              kListed, Median(ours), P99(ours), Median(hash), Median(hash) / Median(ours));
}

// The floor of a swap: one update of one row, durable.
double PointBare(World& world) {
  constexpr pg::Statement kPointBare{"bench.point",
                                     "UPDATE classification.videos SET revision = revision WHERE "
                                     "namespace = $1 AND video_id = $2"};
  const auto begin = steady_clock::now();
  OrExit(world.writes.Statements(Soon(), [&](pg::Session& session) {
    session.Execute(kPointBare, "default", "v");
    return OkStatus();
  }));
  return 1e3 * Seconds(steady_clock::now() - begin);
}

void PrintTimes(const char* what, const std::vector<double>& times) {
  std::printf("  %s: p50 %.2f ms, p99 %.2f ms\n", what, Median(times), P99(times));
}

// Swaps and rollbacks in turn with their floor, twice.
void SwapBeside(World& world, const std::string& a, const std::string& b, const char* what) {
  std::vector<double> swaps, rollbacks, bare, again;
  for (int i = 0; i < kSwaps; ++i) {
    const std::string& next = i % 2 == 0 ? b : a;
    bare.push_back(PointBare(world));
    swaps.push_back(world.Activate(next));
    again.push_back(PointBare(world));
    rollbacks.push_back(world.Rollback(next));
    world.Activate(next);
  }
  std::printf("%s\n", what);
  PrintTimes("swap", swaps);
  PrintTimes("rollback", rollbacks);
  PrintTimes("one durable update of a row", bare);
  PrintTimes("the same again", again);
}

void BenchSwap(int count) {
  World world;
  world.Import("v", count);
  const std::string a = world.NewRun("v");
  const std::string b = world.NewRun("v");
  world.Fill(a, count, 0);
  world.Fill(b, count, 5);
  world.Activate(a);
  v1::BulkOverrideClassificationsRequest bulk;
  bulk.set_video_id("v");
  bulk.set_status(v1::COMMENT_STATUS_CONTENT_SUGGESTION);
  const int kept = std::min(1000, count);
  for (int i = 0; i < kept; ++i) {
    bulk.add_comment_ids("UgyQbxEOl74hRc1x" + std::to_string(1'000'000 + i) + "AaABAg");
  }
  bulk.set_request_id("bulk");
  world.Do(&Handlers::BulkOverrideClassifications, bulk);
  std::printf("run of %d\n", count);
  std::atomic<bool> stop = false;
  std::atomic<int> reads = 0;
  std::atomic<int> mixes = 0;
  std::thread reader([&] {
    v1::BatchGetClassificationsRequest batch;
    batch.set_video_id("v");
    for (int i = count / 2; i < std::min(count, count / 2 + 200); ++i) {
      batch.add_comment_ids("UgyQbxEOl74hRc1x" + std::to_string(1'000'000 + i) + "AaABAg");
    }
    while (!stop) {
      std::set<std::string> runs;
      const auto all = world.Do(&Handlers::BatchGetClassifications, batch);
      for (const auto& one : all.results()) {
        runs.insert(one.classification().run_id());
      }
      ++reads;
      mixes += runs.size() > 1;
    }
  });
  SwapBeside(world, a, b, "beside readers");
  stop = true;
  reader.join();
  std::printf("%d reads meanwhile, %d mixes\n", reads.load(), mixes.load());
  SwapBeside(world, a, b, "alone");
  v1::CountClassificationsRequest counts;
  counts.set_video_id("v");
  const auto counted = world.Do(&Handlers::CountClassifications, counts).counts();
  std::printf("overrides kept: %lld of %d\n", static_cast<long long>(counted.content_suggestion()),
              kept);
}

}  // namespace
}  // namespace winnow::classification

int main(int argc, char** argv) {
  namespace bench = winnow::classification;
  const std::string only = argc > 1 ? argv[1] : "";
  const char* size = std::getenv("WINNOW_BENCH_COMMENTS");
  if (only.empty() || only == "commit") bench::BenchCommit();
  if (only.empty() || only == "list") bench::BenchList();
  if (only.empty() || only == "swap") {
    bench::BenchSwap(size == nullptr ? 1'000'000 : std::stoi(size));
  }
  return 0;
}
