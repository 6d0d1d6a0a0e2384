#include "services/collector/service.h"

#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>

#include "tests/support/collector/collector.h"
#include "tests/support/process/test_platform.h"
#include "tests/support/sync/eventually.h"
#include "winnow/collector/v1/collector_service.grpc.pb.h"

namespace winnow::collector {
namespace {

using ::testing::ElementsAre;

v1::Item MakeItem(int number) {
  v1::Item item;
  item.set_channel("edaily");
  item.set_title("Title " + std::to_string(number));
  item.set_url("https://example.com/" + std::to_string(number));
  return item;
}

std::vector<std::string> FieldsOf(const google::rpc::Status& status) {
  std::vector<std::string> fields;
  for (const auto& detail : status.details()) {
    google::rpc::BadRequest bad;
    if (!detail.UnpackTo(&bad)) continue;
    for (const auto& violation : bad.field_violations()) fields.push_back(violation.field());
  }
  return fields;
}

google::rpc::Status DetailsOf(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  return details;
}

class CollectorService : public ::testing::Test {
 protected:
  CollectorService() : platform_(test::NewCollectorDatabase()) {
    platform_.transport().AddConsumer({.service = "test",
                                       .event = "winnow.events.v1.ItemCollected",
                                       .deliver = [this](auto envelopes) {
                                         const std::lock_guard lock(mutex_);
                                         events_.insert(events_.end(), envelopes.begin(),
                                                        envelopes.end());
                                         return std::vector<Status>(envelopes.size());
                                       }});
    platform_.Serve({MakeCollectorTarget(platform_.parts())});
    stub_ = v1::CollectorService::NewStub(platform_.channel());
  }
  ~CollectorService() override {
    stub_.reset();
    platform_.Stop();
  }

  template <class Request, class Response>
  grpc::Status Call(grpc::Status (v1::CollectorService::Stub::*method)(grpc::ClientContext*,
                                                                       const Request&, Response*),
                    const Request& request, Response& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    context.AddMetadata("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    return (stub_.get()->*method)(&context, request, &response);
  }
  v1::BatchPutItemsResponse Put(const std::vector<v1::Item>& items) {
    v1::BatchPutItemsRequest request;
    for (const v1::Item& item : items) *request.add_items() = item;
    v1::BatchPutItemsResponse response;
    const grpc::Status status = Call(&v1::CollectorService::Stub::BatchPutItems, request, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  size_t EventCount() {
    const std::lock_guard lock(mutex_);
    return events_.size();
  }

  std::mutex mutex_;
  std::vector<events::Envelope> events_;
  test::TestPlatform platform_;
  std::unique_ptr<v1::CollectorService::Stub> stub_;
};

TEST_F(CollectorService, APutItemIsReadBackAndTold) {
  const v1::BatchPutItemsResponse put = Put({MakeItem(1)});
  ASSERT_EQ(put.results_size(), 1);
  EXPECT_TRUE(put.results(0).stored().created());
  const v1::StoredItem& stored = put.results(0).stored();
  EXPECT_EQ(stored.canonical_url(), "https://example.com/1");

  v1::GetItemRequest request;
  request.set_id(stored.id());
  v1::GetItemResponse response;
  ASSERT_TRUE(Call(&v1::CollectorService::Stub::GetItem, request, response).ok());
  v1::Item expected = MakeItem(1);
  expected.set_id(stored.id());
  expected.set_namespace_("default");
  expected.set_canonical_url(stored.canonical_url());
  *expected.mutable_create_time() = stored.create_time();
  v1::Item& item = *response.mutable_item();
  EXPECT_TRUE(item.has_arrival_time() && item.has_publish_time());
  EXPECT_TRUE(item.publish_time_assumed());
  item.clear_publish_time_assumed();
  for (v1::Item* each : {&expected, &item}) {
    each->clear_language();
    each->clear_arrival_time();
    each->clear_publish_time();
  }
  EXPECT_EQ(item.SerializeAsString(), expected.SerializeAsString());

  ASSERT_TRUE(test::Eventually([&] { return EventCount() == 1; }));
  EXPECT_EQ(events_[0].item_collected().item_id(), stored.id());
  EXPECT_TRUE(events_[0].traceparent().starts_with("00-0af7651916cd43dd8448eb211c80319c-"));
}

TEST_F(CollectorService, ItemsOfABatchFailAlone) {
  v1::Item bad;
  bad.set_namespace_("Bad Namespace");
  bad.set_title(std::string(1'001, 'x'));
  const v1::BatchPutItemsResponse put = Put({MakeItem(1), bad, MakeItem(2), MakeItem(1)});
  ASSERT_EQ(put.results_size(), 4);
  EXPECT_TRUE(put.results(0).stored().created());
  EXPECT_EQ(put.results(1).error().code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(FieldsOf(put.results(1).error()),
              ::testing::UnorderedElementsAre("items[1].namespace", "items[1].channel",
                                              "items[1].title", "items[1].external_id"));
  EXPECT_TRUE(put.results(2).stored().created());
  EXPECT_FALSE(put.results(3).stored().created());
  EXPECT_EQ(put.results(3).stored().id(), put.results(0).stored().id());
}

TEST_F(CollectorService, ABatchOfRefusedItemsAloneIsAnsweredToo) {
  const v1::BatchPutItemsResponse put = Put({v1::Item(), v1::Item()});
  ASSERT_EQ(put.results_size(), 2);
  EXPECT_TRUE(put.results(0).has_error() && put.results(1).has_error());
}

TEST_F(CollectorService, ABatchHasOneTo1000Entries) {
  for (const int size : {0, 1'001}) {
    v1::BatchPutItemsRequest put;
    v1::BatchGetItemsRequest get;
    for (int i = 0; i < size; ++i) {
      *put.add_items() = MakeItem(i);
      get.add_ids("x");
    }
    v1::BatchPutItemsResponse put_response;
    v1::BatchGetItemsResponse get_response;
    const grpc::Status refused_put =
        Call(&v1::CollectorService::Stub::BatchPutItems, put, put_response);
    const grpc::Status refused_get =
        Call(&v1::CollectorService::Stub::BatchGetItems, get, get_response);
    EXPECT_EQ(refused_put.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(FieldsOf(DetailsOf(refused_put)), ElementsAre("items"));
    EXPECT_EQ(refused_get.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(FieldsOf(DetailsOf(refused_get)), ElementsAre("ids"));
  }
}

TEST_F(CollectorService, AStreamAnswersEachRequestInOrder) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  const auto stream = stub_->IngestItems(&context);
  constexpr int kCount = 2'500;
  std::thread sender([&] {
    for (int i = 0; i < kCount; ++i) {
      v1::IngestItemsRequest request;
      if (i % 100 != 99) *request.mutable_item() = MakeItem(i % 2'000);
      ASSERT_TRUE(stream->Write(request));
    }
    stream->WritesDone();
  });
  v1::IngestItemsResponse response;
  int read = 0;
  std::set<std::string> ids;
  for (; stream->Read(&response); ++read) {
    if (read % 100 == 99) {
      EXPECT_THAT(FieldsOf(response.result().error()), ElementsAre("item"));
      continue;
    }
    const v1::StoredItem& stored = response.result().stored();
    EXPECT_EQ(stored.canonical_url(), "https://example.com/" + std::to_string(read % 2'000));
    EXPECT_EQ(stored.created(), read < 2'000);
    ids.insert(stored.id());
  }
  sender.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(read, kCount);
  EXPECT_EQ(ids.size(), 1'980U);
  EXPECT_TRUE(test::Eventually([&] { return EventCount() == 1'980; }));
}

TEST_F(CollectorService, UnknownAndMalformedIdsAreToldApart) {
  const std::string known = Put({MakeItem(1)}).results(0).stored().id();
  std::string upper = known;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const std::string unknown = "01900000-0000-7000-8000-000000000001";

  v1::BatchGetItemsRequest batch;
  for (const std::string& id : {known, unknown, std::string("nonsense"), upper, known}) {
    batch.add_ids(id);
  }
  v1::BatchGetItemsResponse got;
  ASSERT_TRUE(Call(&v1::CollectorService::Stub::BatchGetItems, batch, got).ok());
  ASSERT_EQ(got.results_size(), 5);
  EXPECT_EQ(got.results(0).item().id(), known);
  EXPECT_EQ(got.results(1).error().code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(FieldsOf(got.results(2).error()), ElementsAre("ids[2]"));
  EXPECT_EQ(got.results(3).item().id(), known);
  EXPECT_EQ(got.results(4).item().id(), known);

  v1::GetItemRequest one;
  v1::GetItemResponse item;
  one.set_id(unknown);
  EXPECT_EQ(Call(&v1::CollectorService::Stub::GetItem, one, item).error_code(),
            grpc::StatusCode::NOT_FOUND);
  one.set_id("nonsense");
  const grpc::Status refused = Call(&v1::CollectorService::Stub::GetItem, one, item);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(FieldsOf(DetailsOf(refused)), ElementsAre("id"));
}

TEST_F(CollectorService, ListingPagesToTheEndAndRefusesWhatItCannotUse) {
  Put({MakeItem(1), MakeItem(2), MakeItem(3)});
  v1::ListItemsRequest request;
  request.set_page_size(2);
  v1::ListItemsResponse first;
  ASSERT_TRUE(Call(&v1::CollectorService::Stub::ListItems, request, first).ok());
  EXPECT_EQ(first.items_size(), 2);
  request.set_page_token(first.next_page_token());
  v1::ListItemsResponse second;
  ASSERT_TRUE(Call(&v1::CollectorService::Stub::ListItems, request, second).ok());
  EXPECT_EQ(second.items_size(), 1);
  EXPECT_EQ(second.next_page_token(), "");

  v1::ListItemsResponse none;
  request.set_channel("another");
  EXPECT_EQ(Call(&v1::CollectorService::Stub::ListItems, request, none).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  request.clear_page_token();
  request.set_page_size(-1);
  const grpc::Status refused = Call(&v1::CollectorService::Stub::ListItems, request, none);
  EXPECT_THAT(FieldsOf(DetailsOf(refused)), ElementsAre("page_size"));
}

}  // namespace
}  // namespace winnow::collector
