#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "services/collector/service.h"
#include "services/platform/config/config.h"
#include "tests/support/collector/collector.h"
#include "tests/support/http/fake_vendors.h"
#include "tests/support/process/temp_dir.h"
#include "tests/support/process/test_platform.h"
#include "tests/support/sync/eventually.h"
#include "winnow/collector/v1/collector_service.grpc.pb.h"

namespace winnow::collector {

using Stub = v1::CollectorService::Stub;

// A collector whose sources run, against vendors that answer as the real ones do.
class Replica {
 public:
  Replica(const std::string& url, const config::v1::Collector& config) : platform_(url) {
    *platform_.config().mutable_collector() = config;
    FillDefaults(platform_.config(), {.cpus = 2});
    platform_.Serve({MakeCollectorTarget(platform_.parts())});
    stub_ = v1::CollectorService::NewStub(platform_.channel());
  }
  ~Replica() { Stop(); }
  void Stop() {
    stub_.reset();
    platform_.Stop();
  }
  template <class Request, class Response>
  Response Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    Response response;
    const grpc::Status status = (stub_.get()->*method)(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  void Create(const v1::Source& source) {
    v1::CreateSourceRequest request;
    *request.mutable_source() = source;
    Call(&Stub::CreateSource, request);
  }
  // The runs of a source, the first begun first, once there are `count`.
  std::vector<v1::Run> Runs(const std::string& source, size_t count) {
    v1::ListRunsRequest request;
    request.set_source_id(source);
    v1::ListRunsResponse response;
    EXPECT_TRUE(test::Eventually([&] {
      response = Call(&Stub::ListRuns, request);
      return response.runs_size() >= static_cast<int>(count);
    })) << source;
    return {response.runs().rbegin(), response.runs().rend()};
  }
  v1::Run RunNow(const std::string& source) {
    v1::RunSourceRequest request;
    request.set_id(source);
    const std::string id = Call(&Stub::RunSource, request).run_id();
    v1::ListRunsRequest list;
    list.set_source_id(source);
    v1::Run found;
    EXPECT_TRUE(test::Eventually([&] {
      const v1::ListRunsResponse ended = Call(&Stub::ListRuns, list);
      for (const v1::Run& run : ended.runs()) {
        if (run.id() == id) found = run;
      }
      return !found.id().empty();
    })) << source;
    return found;
  }
  v1::Source Update(const v1::Source& source, const std::string& path) {
    v1::UpdateSourceRequest request;
    *request.mutable_source() = source;
    request.mutable_update_mask()->add_paths(path);
    return Call(&Stub::UpdateSource, request).source();
  }
  v1::Source Get(const std::string& source) {
    v1::GetSourceRequest request;
    request.set_id(source);
    return Call(&Stub::GetSource, request).source();
  }
  v1::Quota QuotaOf(const std::string& credential) {
    v1::GetQuotaRequest request;
    request.set_credential(credential);
    return Call(&Stub::GetQuota, request).quotas(0);
  }
  int ItemCount() {
    v1::ListItemsRequest request;
    request.set_page_size(1'000);
    return Call(&Stub::ListItems, request).items_size();
  }
  test::TestPlatform& platform() { return platform_; }
  Stub& stub() { return *stub_; }

 private:
  test::TestPlatform platform_;
  std::unique_ptr<Stub> stub_;
};

class CollectorRuns : public ::testing::Test {
 protected:
  CollectorRuns() {
    config_.mutable_lease()->set_seconds(60);  // given back by who stops; a busy machine keeps it
    Allow(web_.address());
  }
  void Allow(const std::string& origin) { config_.add_allow(origin); }
  void AddCredential(const std::string& vendor, const std::string& base_url) {
    config::v1::Credential& credential = *config_.add_credentials();
    credential.set_name(vendor);
    credential.set_vendor(vendor);
    credential.set_base_url(base_url);
    if (vendor != "newsdata") credential.set_id_file(WriteFile("the-id"));
    credential.set_key_file(WriteFile("the-key"));
    credential.set_calls_per_second(10);
  }
  std::string WriteFile(const std::string& text) {
    std::string path = dir_.path() + "/" + text;
    std::ofstream(path) << text << "\n";
    return path;
  }
  void Start() { replica_ = std::make_unique<Replica>(url_, config_); }
  static v1::Source Naver(const std::string& id, const std::string& vendor = "naver") {
    v1::Source source;
    source.set_id(id);
    source.set_skip_images(true);
    source.mutable_naver()->set_credential(vendor);
    source.mutable_naver()->set_query("기후");
    return source;
  }
  static v1::Source Feed(const std::string& id, const std::string& url) {
    v1::Source source;
    source.set_id(id);
    source.mutable_feed()->set_url(url);
    return source;
  }

  test::TempDir dir_{"collector-runs"};
  test::FakeWeb web_;
  config::v1::Collector config_;
  const std::string url_ = test::NewCollectorDatabase();
  std::unique_ptr<Replica> replica_;
};

}  // namespace winnow::collector
