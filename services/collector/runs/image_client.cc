#include "services/collector/runs/image_client.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "services/collector/sources/head_scanner.h"
#include "services/platform/base/format/charset.h"

namespace winnow::collector {
namespace {

Counter& CounterOf(Metrics& metrics, const char* outcome) {
  return metrics.GetCounter("winnow_collector_images_total",
                            "Pages on which a picture was looked for, by outcome.",
                            {{"outcome", outcome}});
}

Hash128Value KeyOf(const Item& item) { return Hash128(item.canonical_url); }

}  // namespace

ImageClient::ImageClient(http::Client& client, QuotaStore& store, Metrics& metrics, Options options)
    : client_(client),
      store_(store),
      options_(options),
      found_(CounterOf(metrics, "found")),
      none_(CounterOf(metrics, "none")),
      failed_(CounterOf(metrics, "failed")),
      remembered_(CounterOf(metrics, "remembered")) {}

QuotaStore::Picture ImageClient::Fetch(const Item& item, const std::stop_token& stop) {
  HeadScanner scanner;
  http::Request request;
  request.url = item.url;
  request.timeout = options_.page_timeout;
  request.max_body = 2 * kMaxHeadBytes;  // the scanner stops first
  request.headers = {{"Accept", "text/html,application/xhtml+xml"}};
  request.on_body = [&](std::string_view piece) { return scanner.Feed(piece); };
  request.cancelled = [stop] { return stop.stop_requested(); };
  const StatusOr<http::Response> response = client_.Fetch(request);
  // A page that goes on beyond the cap, or breaks off, may have said what is wanted before.
  const bool read = response.ok() ? response->status == 200 : scanner.bytes() > 0;
  std::string image;
  if (read) {
    const std::string charset =
        response.ok() ? CharsetOfContentType(response->Find("content-type")) : std::string();
    image = scanner.Image(response.ok() ? response->url : item.url, charset);
  }
  if (!image.empty()) {
    found_.Increment();
    return {KeyOf(item), image, options_.keep_found};
  }
  (response.ok() && read ? none_ : failed_).Increment();
  const bool final = response.ok() && response->status < 500 && response->status != 429;
  return {KeyOf(item), "", final ? options_.keep_none : options_.keep_failed};
}

StatusOr<ImageClient::Tally> ImageClient::Find(Deadline deadline, std::vector<Item>& items,
                                               const std::stop_token& stop) {
  std::map<Hash128Value, std::vector<Item*>> wanted;  // by page
  for (Item& item : items) {
    if (item.image_url.empty() && !item.canonical_url.empty()) wanted[KeyOf(item)].push_back(&item);
  }
  Tally tally;
  if (wanted.empty()) return tally;
  std::vector<Hash128Value> keys;
  for (const auto& [key, all] : wanted) keys.push_back(key);
  WINNOW_ASSIGN_OR_RETURN(const auto remembered, store_.FindPictures(deadline, keys));
  std::vector<const Item*> pages;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!remembered[i]) {
      pages.push_back(wanted[keys[i]].front());
      continue;
    }
    remembered_.Increment();
    tally.found += remembered[i]->empty() ? 0 : 1;
    for (Item* item : wanted[keys[i]]) item->image_url = *remembered[i];
  }
  std::vector<QuotaStore::Picture> pictures(pages.size());
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  const auto work = [&] {
    for (size_t i = next++; i < pages.size() && !stop.stop_requested(); i = next++) {
      pictures[i] = Fetch(*pages[i], stop);
    }
  };
  const size_t count = std::min(pages.size(), static_cast<size_t>(options_.at_once));
  for (size_t i = 0; i < count; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (stop.stop_requested()) return tally;  // what was cut off says nothing of its page
  for (const QuotaStore::Picture& picture : pictures) {
    tally.found += picture.image_url.empty() ? 0 : 1;
    for (Item* item : wanted[picture.page]) item->image_url = picture.image_url;
  }
  tally.fetched = static_cast<int64_t>(pages.size());
  WINNOW_RETURN_IF_ERROR(store_.SavePictures(deadline, pictures));
  return tally;
}

}  // namespace winnow::collector
