#pragma once

#include <stop_token>
#include <vector>

#include "services/collector/items/item.h"
#include "services/collector/quota/quota_store.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/http/client.h"
#include "services/platform/process/metrics.h"

namespace winnow::collector {

// Pictures of items that came without one, from the heads of their pages.
class ImageClient {
 public:
  struct Options {
    int at_once = 10;
    std::chrono::milliseconds page_timeout{5'000};
    // A picture that was found stays; a page without one is looked at again after this; one that
    // could not be read after that.
    std::chrono::seconds keep_found = std::chrono::hours(24 * 30);
    std::chrono::seconds keep_none = std::chrono::hours(24 * 7);
    std::chrono::seconds keep_failed = std::chrono::hours(1);
  };
  // What was done, for the run.
  struct Tally {
    int64_t fetched = 0;
    int64_t found = 0;
  };

  // All outlive it.
  ImageClient(http::Client& client, QuotaStore& store, Metrics& metrics, Options options);

  // Fills in image_url where a picture is known or found. A page is fetched once, whatever comes of
  // it. Stops fetching when `stop` is requested. Errors: of the store.
  StatusOr<Tally> Find(Deadline deadline, std::vector<Item>& items, const std::stop_token& stop);

 private:
  QuotaStore::Picture Fetch(const Item& item, const std::stop_token& stop);

  http::Client& client_;
  QuotaStore& store_;
  const Options options_;
  Counter& found_;
  Counter& none_;
  Counter& failed_;
  Counter& remembered_;
};

}  // namespace winnow::collector
