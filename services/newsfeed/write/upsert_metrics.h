#pragma once

#include "services/newsfeed/articles/upsert.h"
#include "services/platform/process/metrics.h"

namespace winnow::newsfeed {

// winnow_newsfeed_articles_total{outcome}: what became of the articles that were sent.
class UpsertMetrics {
 public:
  explicit UpsertMetrics(Metrics& metrics);
  void Count(const StatusOr<Upserted>& result);

 private:
  Counter& created_;
  Counter& updated_;
  Counter& unchanged_;
  Counter& merged_;
  Counter& refused_;
};

}  // namespace winnow::newsfeed
