#include "services/app/import/import_run.h"

#include <gmock/gmock.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "services/platform/grpc/errors/rpc_status.h"
#include "tests/support/process/temp_dir.h"
#include "winnow/collector/v1/collector_service.grpc.pb.h"
#include "winnow/dedup/v1/dedup_service.grpc.pb.h"

namespace winnow::app {
namespace {

using collector::v1::IngestItemsRequest;
using collector::v1::IngestItemsResponse;

// Keeps items by their address; breaks streams on request. Titles "bad" are refused.
class FakeCollector final : public collector::v1::CollectorService::Service {
 public:
  grpc::Status IngestItems(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<IngestItemsResponse, IngestItemsRequest>* stream) override {
    int left = -1;
    {
      const std::lock_guard lock(mutex_);
      if (!break_after.empty()) {
        left = break_after.front();
        break_after.erase(break_after.begin());
      }
    }
    IngestItemsRequest request;
    while (stream->Read(&request)) {
      IngestItemsResponse response;
      Put(request.item(), *response.mutable_result());
      if (left-- == 0) {  // stored, and the answer is lost
        return {grpc::StatusCode::UNAVAILABLE, "gone"};
      }
      if (!stream->Write(response)) break;
    }
    return grpc::Status::OK;
  }

  std::vector<int> break_after;  // answers of each stream before it breaks

  size_t stored() {
    const std::lock_guard lock(mutex_);
    return ids_.size();
  }

 private:
  void Put(const collector::v1::Item& item, collector::v1::PutItemResult& result) {
    const std::lock_guard lock(mutex_);
    if (item.title() == "bad") {
      *result.mutable_error() = rpc::ToRpcStatus(InvalidField("item.title", "is bad"), "request");
      return;
    }
    const auto [place, created] = ids_.emplace(item.url(), "id-" + item.url());
    result.mutable_stored()->set_id(place->second);
    result.mutable_stored()->set_created(created);
  }
  std::mutex mutex_;
  std::map<std::string, std::string> ids_;
};

// Every third item is a duplicate; a decision is there at the second question.
class FakeDedup final : public dedup::v1::DedupService::Service {
 public:
  grpc::Status GetDecision(grpc::ServerContext*, const dedup::v1::GetDecisionRequest* request,
                           dedup::v1::GetDecisionResponse* response) override {
    const std::lock_guard lock(mutex_);
    if (asked_.insert(request->document_id()).second || silent) {
      return {grpc::StatusCode::NOT_FOUND, "not yet"};
    }
    const bool duplicate = request->document_id().back() % 3 == 0;
    response->mutable_decision()->set_verdict(duplicate ? dedup::v1::VERDICT_DUPLICATE
                                                        : dedup::v1::VERDICT_UNIQUE);
    return grpc::Status::OK;
  }
  bool silent = false;

 private:
  std::mutex mutex_;
  std::set<std::string> asked_;
};

class ImportTest : public testing::Test {
 protected:
  void SetUp() override {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&collector_);
    builder.RegisterService(&dedup_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    options_.address = "127.0.0.1:" + std::to_string(port);
    options_.timeout_seconds = 30;
  }
  void TearDown() override { server_->Shutdown(); }

  // Imports these lines, going on from `start`.
  Status Import(const std::string& text, Checkpoint start = {}) {
    const std::string path = dir_.path() + "/items.jsonl";
    std::ofstream(path, std::ios::binary) << text;
    auto source = ByteSource::Open(path, Interrupt::Install());
    auto remote = Remote::Connect(options_);
    EXPECT_TRUE(source.ok() && remote.ok()) << remote.status();
    ImportSettings settings;
    settings.title = "items.jsonl";
    settings.item_namespace = "demo";
    settings.checkpoint_path = checkpoint_path_;
    settings.decision_limit = decision_limit_;
    ImportRun run(settings, *remote, Interrupt::Install(), **source, std::move(start));
    const Status status = run.Run();
    tally_ = run.books().tally;
    return status;
  }

  static std::string Lines(int first, int last) {
    std::string text;
    for (int i = first; i <= last; ++i) {
      text += R"({"title":"t","channel":"c","url":")" + std::to_string(i) + "\"}\n";
    }
    return text;
  }

  test::TempDir dir_{"import"};
  FakeCollector collector_;
  FakeDedup dedup_;
  std::unique_ptr<grpc::Server> server_;
  RemoteOptions options_;
  std::string checkpoint_path_;
  std::chrono::milliseconds decision_limit_{60'000};
  Tally tally_;
};

TEST_F(ImportTest, EndsWithCountsThatAddUp) {
  const std::string text = Lines(1, 9) + "no json\n" + R"({"title":"bad","url":"x"})" + "\n" +
                           Lines(3, 4) + "{\"title\":\"\xff\"}\n";
  ASSERT_TRUE(Import(text).ok());
  EXPECT_EQ(tally_.lines, 14);
  EXPECT_EQ(tally_.refused(), 3);
  EXPECT_EQ(tally_.refused_by_reason.at("title"), 1);
  EXPECT_EQ(tally_.already_present, 2);
  EXPECT_EQ(tally_.duplicates, 3);
  EXPECT_EQ(tally_.accepted, 6);
  EXPECT_EQ(tally_.undecided(), 0);
}

TEST_F(ImportTest, OfNothingButRefusalsEnds) {
  ASSERT_TRUE(Import("a\nb\nc\n").ok());
  EXPECT_EQ(tally_.lines, 3);
  EXPECT_EQ(tally_.refused_by_reason.at("not JSON"), 3);
}

TEST_F(ImportTest, OfAnEmptyFileEnds) {
  ASSERT_TRUE(Import("").ok());
  EXPECT_EQ(tally_.lines, 0);
}

TEST_F(ImportTest, GoesOnOverBrokenStreamsAndCountsEachItemOnce) {
  collector_.break_after = {3, 0, 0, 100, 7};
  ASSERT_TRUE(Import(Lines(1, 500) + "no json\n" + Lines(501, 900)).ok());
  EXPECT_EQ(collector_.stored(), 900U);
  EXPECT_EQ(tally_.lines, 901);
  EXPECT_EQ(tally_.refused(), 1);
  EXPECT_EQ(tally_.already_present, 0);
  EXPECT_EQ(tally_.accepted + tally_.duplicates, 900);
}

TEST_F(ImportTest, TellsItemsThatAreNeverDecidedOn) {
  dedup_.silent = true;
  decision_limit_ = std::chrono::milliseconds(300);
  checkpoint_path_ = dir_.path() + "/checkpoint.json";
  const Status status = Import(Lines(1, 5));
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), testing::HasSubstr("5 items are stored and not decided on"));
  EXPECT_EQ(tally_.undecided(), 5);

  // The checkpoint holds them, and the next run has nothing to send and all to await.
  dedup_.silent = false;
  decision_limit_ = std::chrono::milliseconds(60'000);
  const auto checkpoint = ReadCheckpoint(checkpoint_path_, {});
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checkpoint->last_line, 5);
  ASSERT_TRUE(Import(Lines(1, 5), *checkpoint).ok());
  EXPECT_EQ(tally_.lines, 5);
  EXPECT_EQ(tally_.accepted + tally_.duplicates, 5);
  EXPECT_EQ(tally_.already_present, 0);
  EXPECT_FALSE(ReadCheckpoint(checkpoint_path_, {})) << "a complete import leaves none";
}

TEST_F(ImportTest, EndsWithTheServersRefusalOfTheStream) {
  server_->Shutdown();  // and one in its place that has no such service
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&dedup_);
  server_ = builder.BuildAndStart();
  options_.address = "127.0.0.1:" + std::to_string(port);
  EXPECT_EQ(Import(Lines(1, 5)).code(), StatusCode::kUnimplemented);
}

TEST(Remote, TellsWhenNobodyAnswers) {
  RemoteOptions options;
  options.address = "127.0.0.1:1";
  options.timeout_seconds = 0.3;
  const auto remote = Remote::Connect(options);
  EXPECT_EQ(remote.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(remote.status()), testing::HasSubstr("no Winnow server answers"));
}

}  // namespace
}  // namespace winnow::app
