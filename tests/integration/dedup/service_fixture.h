#pragma once

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "services/collector/service.h"
#include "services/dedup/service.h"
#include "tests/support/dedup/dedup.h"
#include "tests/support/process/test_platform.h"
#include "winnow/collector/v1/collector_service.grpc.pb.h"
#include "winnow/dedup/v1/dedup_service.grpc.pb.h"

namespace winnow::dedup {

inline google::rpc::Status DetailsOf(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  return details;
}

inline std::vector<std::string> FieldsOf(const google::rpc::Status& status) {
  std::vector<std::string> fields;
  for (const auto& detail : status.details()) {
    google::rpc::BadRequest bad;
    if (!detail.UnpackTo(&bad)) continue;
    for (const auto& violation : bad.field_violations()) fields.push_back(violation.field());
  }
  return fields;
}

// Collector and dedup on a new database, called by their stubs.
class DedupServiceTest : public ::testing::Test {
 public:
  static void SetDeadline(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  }

 protected:
  using Stub = v1::DedupService::Stub;

  DedupServiceTest() : url_(test::NewDedupDatabase()), platform_(url_) {}
  ~DedupServiceTest() override {
    dedup_.reset();
    collector_.reset();
    platform_.Stop();
  }
  void Serve(bool with_events = true) {
    platform_.Serve(
        {collector::MakeCollectorTarget(platform_.parts()), MakeDedupTarget(platform_.parts())},
        with_events);
    dedup_ = v1::DedupService::NewStub(platform_.channel());
    collector_ = collector::v1::CollectorService::NewStub(platform_.channel());
  }

  template <class Request, class Response>
  grpc::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response& response) {
    grpc::ClientContext context;
    SetDeadline(context);
    return (dedup_.get()->*method)(&context, request, &response);
  }

  static v1::Document NewDocument(const std::string& id, const std::string& channel,
                                  const std::string& title) {
    v1::Document document;
    document.set_id(id);
    document.set_channel(channel);
    document.set_title(title);
    return document;
  }
  v1::Decision Submit(const v1::Document& document) {
    v1::SubmitDocumentRequest request;
    *request.mutable_document() = document;
    v1::SubmitDocumentResponse response;
    const grpc::Status status = Call(&Stub::SubmitDocument, request, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.decision();
  }

  const std::string url_;
  test::TestPlatform platform_;
  std::unique_ptr<Stub> dedup_;
  std::unique_ptr<collector::v1::CollectorService::Stub> collector_;
};

}  // namespace winnow::dedup
