#pragma once

#include <functional>
#include <string>
#include <vector>

#include "services/collector/items/item_store.h"
#include "services/collector/quota/ledger_client.h"
#include "services/collector/runs/image_client.h"
#include "services/collector/sources/source_store.h"
#include "services/platform/http/client.h"

namespace winnow::collector {

// The code of a run that was cut short because its process stops.
inline constexpr char kStopped[] = "stopped";

// Runs one source once: asks it page by page, stores what is new, and tells how it went.
class RunWorker {
 public:
  struct Parts {
    ItemStore& items;
    LedgerClient& ledger;
    const std::vector<Credential>& credentials;
    http::Client& client;
    ImageClient& images;
    const Clock& clock;
    std::function<void()> committed;  // items were stored, with their events
    // Passes time; false, at once, when the process stops.
    std::function<bool(std::chrono::milliseconds)> pause;
    std::function<bool()> stopping;
    // Of a whole answer.
    std::chrono::milliseconds vendor_timeout;
    std::chrono::milliseconds feed_timeout;
  };
  struct Report {
    Run run;
    RunResult result;
    Source source;  // with what is to be remembered of a feed's answer
  };
  explicit RunWorker(Parts parts) : parts_(std::move(parts)) {}

  Report Execute(const Claim& claim);

 private:
  struct Job;  // a run as it goes on
  void RunNaver(Job& job);
  void RunNewsData(Job& job);
  void RunFeed(Job& job);
  using Reader = std::function<VendorAnswer(int status, std::string_view body)>;
  // One page, within the quota. False: the run has failed.
  bool AskVendor(Job& job, const Credential& credential, const http::Request& request,
                 const Reader& read, Page& page);
  // Whether a call was granted.
  bool Reserve(Job& job, const Credential& credential);
  // Stores what is new of a page. False: the run has failed.
  bool Take(Job& job, Page page);
  bool TakeBatch(Job& job, std::vector<Item> batch);
  const Credential* CredentialOf(Job& job);

  const Parts parts_;
};

}  // namespace winnow::collector
