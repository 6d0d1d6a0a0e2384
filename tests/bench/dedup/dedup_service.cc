// Dedup through gRPC over loopback, in one run with its floors:
//   stream  IngestDocuments, durable decisions, against the same entries and decisions by bare
//           unnest inserts of 1,000; rounds of bare, ingest, bare again (the A/A control), medians
//   unary   SubmitDocument with a window of WINNOW_BENCH_WINDOW (200,000) documents in memory,
//           against one durable commit of one row; alone, beside a stream, and while four instances
//           on the one store have a stream each
//   meaning with --meaning, alone: SubmitDocument where an embedder is set, against its call alone
//           (a scripted server that answers vectors of 384) and one durable commit; the window has
//           WINNOW_BENCH_WINDOW (20,000) documents
// --stream: the first alone. --unary: the second.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "services/collector/service.h"
#include "services/dedup/embedding/embedder_client.h"
#include "services/dedup/service.h"
#include "services/platform/base/format/json_tree.h"
#include "services/platform/base/hash.h"
#include "services/platform/postgres/server/private_postgres.h"
#include "tests/bench/cpu.h"
#include "tests/support/http/fake_http.h"
#include "tests/support/process/temp_dir.h"
#include "tests/support/process/test_platform.h"
#include "winnow/dedup/v1/dedup_service.grpc.pb.h"

namespace winnow::bench {
namespace {

using dedup::v1::DedupService;
using std::chrono::steady_clock;

constexpr int kRounds = 5;
constexpr int kRows = 20'000;  // a leg
constexpr int kCalls = 1'000;  // unary calls a leg
constexpr std::chrono::seconds kCallLimit(120);

double Percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

int WindowSize(int usual) {
  const char* asked = std::getenv("WINNOW_BENCH_WINDOW");
  return asked == nullptr ? usual : std::atoi(asked);
}

// Documents as long as Korean headlines and leads are; one in ten repeats another outlet's title.
class Documents {
 public:
  explicit Documents(uint64_t seed) : random_(seed), seed_(seed) {}

  dedup::v1::Document Next() {
    dedup::v1::Document document;
    document.set_id(std::to_string(seed_) + "-" + std::to_string(count_++));
    document.set_channel("outlet-" + std::to_string(random_() % 40));
    const bool is_repeat = !titles_.empty() && random_() % 10 == 0;
    document.set_title(is_repeat ? titles_[random_() % titles_.size()] : Words(8));
    document.set_text(Words(25));
    document.set_url("https://news.example/" + document.id());
    if (!is_repeat && titles_.size() < 5'000) titles_.push_back(document.title());
    return document;
  }

 private:
  std::string Words(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      if (i > 0) text += ' ';
      for (uint64_t letters = 2 + random_() % 3; letters > 0; --letters) {
        const uint64_t point = 0xAC00 + random_() % 2'000 * 5;
        text += static_cast<char>(0xE0 | point >> 12);
        text += static_cast<char>(0x80 | (point >> 6 & 0x3F));
        text += static_cast<char>(0x80 | (point & 0x3F));
      }
    }
    return text;
  }
  std::mt19937_64 random_;
  const uint64_t seed_;
  uint64_t count_ = 0;
  std::vector<std::string> titles_;
};

std::vector<dedup::v1::Document> Make(uint64_t seed, int count) {
  Documents documents(seed);
  std::vector<dedup::v1::Document> made;
  made.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) made.push_back(documents.Next());
  return made;
}

// Tables like dedup.entries and dedup.decisions, with their indexes.
Status MakeBareTables(pg::Pool& pool) {
  return pool.Transaction(Soon(), [](pg::Session& session) {
    session.ExecuteText(
        "CREATE SCHEMA bare; CREATE TABLE bare.entries (LIKE dedup.entries INCLUDING ALL);"
        "CREATE TABLE bare.decisions (LIKE dedup.decisions INCLUDING ALL)");
    return OkStatus();
  });
}

constexpr pg::Statement kBareEntries = {
    "bench.bare_entries",
    "INSERT INTO bare.entries (namespace, seq, document_id, channel, title, lead, canonical_url,"
    " arrival_time, root_seq) SELECT 'bare', *, now(), 1 FROM unnest($1::bigint[], $2::text[],"
    " $3::text[], $4::text[], $5::text[], $6::text[])"};
constexpr pg::Statement kBareDecisions = {
    "bench.bare_decisions",
    "INSERT INTO bare.decisions (namespace, seq, document_id, channel, url, verdict, similarity,"
    " stage, policy_version, arrival_time, decide_time) SELECT 'bare', *, 1, 0, 0, 1, now(), now()"
    " FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[])"};

int64_t bare_seq = 0;

void InsertBare(pg::Pool& pool, std::span<const dedup::v1::Document> rows) {
  pg::Array seqs, ids, channels, titles, leads, urls;
  for (const auto& row : rows) {
    seqs.Add(++bare_seq);
    ids.Add(row.id());
    channels.Add(row.channel());
    titles.Add(row.title());
    leads.Add(row.text());
    urls.Add(row.url());
  }
  OrExit(pool.Transaction(Soon(), [&](pg::Session& session) {
    session.Execute(kBareEntries, seqs, ids, channels, titles, leads, urls);
    session.Execute(kBareDecisions, seqs, ids, channels, urls);
    return OkStatus();
  }));
}

double RunBare(pg::Pool& pool, const std::vector<dedup::v1::Document>& rows) {
  const auto begin = steady_clock::now();
  for (size_t from = 0; from < rows.size(); from += 1'000) {
    InsertBare(pool, std::span(rows).subspan(from, std::min<size_t>(1'000, rows.size() - from)));
  }
  return Seconds(steady_clock::now() - begin);
}

double RunIngest(DedupService::Stub& stub, const std::vector<dedup::v1::Document>& rows) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
  const auto begin = steady_clock::now();
  const auto stream = stub.IngestDocuments(&context);
  std::thread writer([&] {
    dedup::v1::IngestDocumentsRequest request;
    for (const auto& row : rows) {
      *request.mutable_document() = row;
      if (!stream->Write(request, grpc::WriteOptions().set_buffer_hint())) break;
    }
    stream->WritesDone();
  });
  size_t recorded = 0;
  for (dedup::v1::IngestDocumentsResponse answer; stream->Read(&answer);) {
    recorded += answer.decision().recorded() ? 1 : 0;
  }
  writer.join();
  const grpc::Status status = stream->Finish();
  if (!status.ok() || recorded != rows.size()) {
    std::fprintf(stderr, "%zu of %zu recorded: %s\n", recorded, rows.size(),
                 status.error_message().c_str());
    std::exit(1);
  }
  return Seconds(steady_clock::now() - begin);
}

std::vector<double> RunCommits(pg::Pool& pool, const std::vector<dedup::v1::Document>& rows) {
  std::vector<double> seconds;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto begin = steady_clock::now();
    InsertBare(pool, std::span(rows).subspan(i, 1));
    seconds.push_back(Seconds(steady_clock::now() - begin));
  }
  return seconds;
}

bool IsRecorded(DedupService::Stub& stub, const dedup::v1::Document& document) {
  dedup::v1::SubmitDocumentRequest request;
  *request.mutable_document() = document;
  dedup::v1::SubmitDocumentResponse response;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
  const grpc::Status status = stub.SubmitDocument(&context, request, &response);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error_message().c_str());
  return status.ok() && response.decision().recorded();
}

std::vector<double> RunUnary(DedupService::Stub& stub,
                             const std::vector<dedup::v1::Document>& rows) {
  std::vector<double> seconds;
  for (const auto& row : rows) {
    const auto begin = steady_clock::now();
    const bool is_recorded = IsRecorded(stub, row);
    seconds.push_back(Seconds(steady_clock::now() - begin));
    if (is_recorded) continue;
    std::fprintf(stderr, "%s was not recorded\n", row.id().c_str());
    std::exit(1);
  }
  return seconds;
}

void Stream(pg::Pool& pool, DedupService::Stub& stub, pid_t postmaster) {
  Leg bare(kRows), ingest(kRows), again(kRows);
  for (uint64_t round = 0; round <= kRounds; ++round) {
    if (round == 1) bare = ingest = again = Leg(kRows);  // the first warms up
    const auto rows = Make(1'000 + 3 * round, kRows);
    const auto through = Make(1'001 + 3 * round, kRows);
    const auto control = Make(1'002 + 3 * round, kRows);
    bare.Measure(postmaster, [&] { return RunBare(pool, rows); });
    ingest.Measure(postmaster, [&] { return RunIngest(stub, through); });
    again.Measure(postmaster, [&] { return RunBare(pool, control); });
  }
  std::printf("%-32s %8s %12s %12s\n", "medians of 5 rounds", "rows/s", "own us/row", "pg us/row");
  bare.Print("bare unnest-1000");
  ingest.Print("IngestDocuments");
  std::printf("A/A control                            %10.2f\n",
              again.RowsPerSecond() / bare.RowsPerSecond());
  std::printf("IngestDocuments / bare                 %10.2f   target >= 0.60\n",
              ingest.RowsPerSecond() / bare.RowsPerSecond());
}

void PrintUnary(const char* what, const std::vector<double>& seconds) {
  std::printf("%-38s p50 %7.2f ms   p99 %7.2f ms\n", what, 1e3 * Percentile(seconds, 0.5),
              1e3 * Percentile(seconds, 0.99));
}

int64_t CountDecided(pg::Pool& pool) {
  static constexpr pg::Statement kCount = {"bench.count",
                                           "SELECT sum(head)::bigint FROM dedup.log_streams"};
  const auto count = pool.Statements(Soon(), [](pg::Session& session) -> StatusOr<int64_t> {
    return session.Execute(kCount)[0][0].as<int64_t>();
  });
  OrExit(count.status());
  return *count;
}

// Beside streams: what they got meanwhile as well.
void PrintBeside(const char* what, pg::Pool& pool, DedupService::Stub& stub,
                 const std::vector<dedup::v1::Document>& rows) {
  const int64_t before = CountDecided(pool);
  const auto begin = steady_clock::now();
  PrintUnary(what, RunUnary(stub, rows));
  const double seconds = Seconds(steady_clock::now() - begin);
  const int64_t others = CountDecided(pool) - before - static_cast<int64_t>(rows.size());
  std::printf("  the streams meanwhile, decisions/s   %10.0f\n",
              static_cast<double>(others) / seconds);
}

// A stream without end.
class Bulk {
 public:
  Bulk(DedupService::Stub& stub, uint64_t seed)
      : thread_([this, &stub, seed] {
          for (uint64_t next = seed; !stopping_; ++next) RunIngest(stub, Make(next, 5'000));
        }) {}
  ~Bulk() {
    stopping_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

// Another instance on the store, and its stream.
class BulkInstance {
 public:
  BulkInstance(const std::string& url, uint64_t seed) : platform_(url) {
    platform_.Serve({collector::MakeCollectorTarget(platform_.parts()),
                     dedup::MakeDedupTarget(platform_.parts())},
                    /*with_events=*/false);
    stub_ = DedupService::NewStub(
        grpc::CreateChannel(platform_.address(), grpc::InsecureChannelCredentials()));
    // Until its window is loaded it lets documents through.
    const dedup::v1::Document first = Make(seed, 1).front();
    const Deadline limit = steady_clock::now() + kCallLimit;
    while (!IsRecorded(*stub_, first)) {
      if (steady_clock::now() > limit) OrExit(Internal("an instance's window is not loaded"));
    }
    bulk_.emplace(*stub_, seed + 1);
  }

 private:
  test::TestPlatform platform_;
  std::unique_ptr<DedupService::Stub> stub_;
  std::optional<Bulk> bulk_;
};

void Unary(pg::Pool& pool, DedupService::Stub& stub, const std::string& url) {
  constexpr int kChunk = 20'000;
  const int window = WindowSize(200'000);
  for (int filled = 0; filled < window; filled += kChunk) {
    RunIngest(stub, Make(5'000 + static_cast<uint64_t>(filled), kChunk));
  }
  std::printf("window: %d documents more\n", window);
  RunUnary(stub, Make(20, 100));
  PrintUnary("one durable commit", RunCommits(pool, Make(21, kCalls)));
  PrintUnary("SubmitDocument", RunUnary(stub, Make(22, kCalls)));
  PrintUnary("one durable commit again (A/A)", RunCommits(pool, Make(23, kCalls)));
  const Bulk bulk(stub, 9'000);
  PrintBeside("SubmitDocument beside a bulk stream", pool, stub, Make(24, kCalls));
  std::vector<std::unique_ptr<BulkInstance>> others;
  for (uint64_t i = 1; i <= 3; ++i) {
    others.push_back(std::make_unique<BulkInstance>(url, 100'000 * i));
  }
  PrintBeside("SubmitDocument, 4 instances in bulk", pool, stub, Make(25, kCalls));
}

// Vectors of nothing in particular, the same for equal texts.
void AnswerVectors(const test::FakeRequest& request, test::FakeReply& reply) {
  constexpr int kDimensions = 384;
  const JsonValue root = ParseJson(request.body, "request").value();
  std::string body = R"({"data":[)";
  for (const JsonMember& member : root.members) {
    if (member.name != "input") continue;
    for (size_t i = 0; i < member.value.items.size(); ++i) {
      std::minstd_rand random(static_cast<uint32_t>(Hash64(member.value.items[i].raw)));
      body += i > 0 ? R"(,{"embedding":[)" : R"({"embedding":[)";
      for (int k = 0; k < kDimensions; ++k) {
        if (k > 0) body += ',';
        body += std::to_string(static_cast<int>(random() % 255) - 127);
      }
      body += "]}";
    }
  }
  reply.Send(200, body + "]}");
}

std::vector<double> RunEmbedding(const std::string& url,
                                 const std::vector<dedup::v1::Document>& rows) {
  Metrics metrics;
  const auto embedder = dedup::MakeHttpEmbedder({.url = url, .model = "e5-query"}, metrics).value();
  std::vector<double> seconds;
  for (const auto& row : rows) {
    const std::vector<std::string> text = {row.title()};
    const auto begin = steady_clock::now();
    OrExit(embedder->Embed(text, Soon()).status());
    seconds.push_back(Seconds(steady_clock::now() - begin));
  }
  return seconds;
}

void UnaryByMeaning(pg::Pool& pool, DedupService::Stub& stub, const std::string& url) {
  constexpr int kChunk = 5'000;
  const int window = WindowSize(20'000);
  for (int filled = 0; filled < window; filled += kChunk) {
    RunIngest(stub, Make(5'000 + static_cast<uint64_t>(filled), kChunk));
  }
  std::printf("window: %d documents with vectors\n", window);
  RunUnary(stub, Make(20, 100));
  PrintUnary("one durable commit", RunCommits(pool, Make(21, kCalls)));
  PrintUnary("one embedding call", RunEmbedding(url, Make(22, kCalls)));
  PrintUnary("SubmitDocument with meaning", RunUnary(stub, Make(23, kCalls)));
  PrintUnary("one durable commit again (A/A)", RunCommits(pool, Make(24, kCalls)));
}

void Run(std::string_view what) {
  const bool by_meaning = what == "--meaning";
  test::FakeHttpServer model(AnswerVectors);
  const std::string url = model.Url("/v1");
  test::TempDir dir("bench");
  pg::PrivatePostgresOptions options;
  options.data_dir = dir.path();
  auto server = pg::PrivatePostgres::Start(options);
  OrExit(server.status());
  {
    test::TestPlatform platform((*server)->connection_url());
    OrExit(pg::Migrate(platform.pool(), collector::CollectorMigrations(), Soon()));
    OrExit(pg::Migrate(platform.pool(), dedup::DedupMigrations(), Soon()));
    OrExit(MakeBareTables(platform.pool()));
    if (by_meaning) {
      config::v1::Embedder& embedder = *platform.config().mutable_dedup()->mutable_embedder();
      embedder.set_url(url);
      embedder.set_model("e5-query");
      embedder.set_batch_size(256);
      embedder.mutable_timeout()->set_seconds(30);
      embedder.mutable_patience()->set_seconds(30);  // none is decided without
      embedder.set_cached_vectors(1'000'000);
    }
    platform.Serve({collector::MakeCollectorTarget(platform.parts()),
                    dedup::MakeDedupTarget(platform.parts())},
                   /*with_events=*/false);
    const auto stub = DedupService::NewStub(
        grpc::CreateChannel(platform.address(), grpc::InsecureChannelCredentials()));
    if (by_meaning) {
      UnaryByMeaning(platform.pool(), *stub, url);
    } else {
      if (what != "--unary") Stream(platform.pool(), *stub, (*server)->postmaster_pid());
      if (what != "--stream") Unary(platform.pool(), *stub, (*server)->connection_url());
    }
  }
  OrExit((*server)->Stop());
}

}  // namespace
}  // namespace winnow::bench

int main(int argc, char** argv) { winnow::bench::Run(argc > 1 ? argv[1] : ""); }
