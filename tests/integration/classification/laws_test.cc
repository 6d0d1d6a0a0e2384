#include <atomic>
#include <set>
#include <thread>

#include "tests/integration/classification/fixture.h"

// What must hold whatever happens: counts, coverage, resolution, swaps.
namespace winnow::classification {
namespace {

TEST_F(ClassificationRunTest, CountsHowAnActivatedRunDiffersFromTheOneBefore) {
  Import(Comments(6));
  Activate(ExternalRun(6, v1::COMMENT_STATUS_NORMAL).id());
  const v1::Run run = Start("external");
  v1::IngestVerdictsRequest request;
  request.set_run_id(run.id());
  request.set_lists(R"({"normal":["c0","c1","c2","c3"],"filtered":["c4","c5"]})");
  Ingest(request);
  Activate(run.id());
  const std::string name = "winnow_classification_runs_compared_total";
  EXPECT_TRUE(test::Eventually([&] {
    const std::string shown = metrics_.Render();
    return shown.find(name + "{agrees=\"true\"} 4") != std::string::npos &&
           shown.find(name + "{agrees=\"false\"} 2") != std::string::npos;
  })) << metrics_.Render();
}

TEST_F(ClassificationTest, ReadersNeverSeeAMixWhileRunsAreSwapped) {
  constexpr int kComments = 300;
  Import(Comments(kComments));
  const v1::Run a = ExternalRun(kComments, v1::COMMENT_STATUS_NORMAL);
  const v1::Run b = ExternalRun(kComments, v1::COMMENT_STATUS_FILTERED);
  Activate(a.id());
  std::atomic<bool> stop = false;
  std::atomic<int> swaps = 0;
  std::thread swapper([&] {
    for (int i = 0; !stop; ++i) {
      Activate(i % 2 == 0 ? b.id() : a.id());
      ++swaps;
    }
  });
  v1::BatchGetClassificationsRequest request;
  request.set_video_id("v");
  for (int i = 0; i < kComments; ++i) request.add_comment_ids("c" + std::to_string(i));
  for (int round = 0; round < 30 && !HasFailure(); ++round) {
    std::set<int> statuses;
    const auto all = Do(&Handlers::BatchGetClassifications, request);
    for (const v1::ClassificationResult& one : all.results()) {
      statuses.insert(one.classification().status());
    }
    EXPECT_EQ(statuses.size(), 1u) << "a mix";
    const v1::StatusCounts counts = Count();
    EXPECT_TRUE(counts.normal() == kComments || counts.filtered() == kComments);
  }
  EXPECT_TRUE(test::Eventually([&] { return swaps > 4; }));
  stop = true;
  swapper.join();
}

}  // namespace
}  // namespace winnow::classification
