#pragma once

#include <stop_token>
#include <vector>

#include "services/collector/items/item_store.h"
#include "services/collector/quota/ledger_client.h"
#include "services/collector/runs/image_client.h"
#include "services/collector/sources/source_store.h"
#include "services/platform/events/core/transport.h"
#include "services/platform/http/client.h"

namespace winnow::collector {

// The code of a run that was cut short because its process stops.
inline constexpr char kStopped[] = "stopped";

// Runs one source once: asks it page by page, stores what is new, and returns the outcome.
class RunWorker {
 public:
  struct Parts {
    ItemStore& items;
    LedgerClient& ledger;
    const std::vector<Credential>& credentials;
    http::Client& client;
    ImageClient& images;
    const Clock& clock;
    events::Transport* transport;  // delivers the events of stored items; null: not delivered
    // Of a whole answer.
    std::chrono::milliseconds vendor_timeout;
    std::chrono::milliseconds feed_timeout;
  };
  struct Report {
    Run run;
    RunResult result;
    Source source;  // with what is to be remembered of a feed's answer
  };
  explicit RunWorker(const Parts& parts) : parts_(parts) {}

  // A run that `stop` cuts short ends with the code kStopped.
  Report Execute(const Claim& claim, const std::stop_token& stop);

 private:
  struct Job;  // a run as it goes on
  void RunNaver(Job& job);
  void RunNewsData(Job& job);
  void RunFeed(Job& job);
  using Reader = VendorAnswer (*)(int status, std::string_view body);
  // One page, within the quota. False: the run has failed.
  bool AskVendor(Job& job, const Credential& credential, const http::Request& request, Reader read,
                 Page& page);
  // Whether a call was granted.
  bool Reserve(Job& job, const Credential& credential);
  // Stores what is new of a page. False: the run has failed.
  bool Take(Job& job, Page page);
  bool TakeBatch(Job& job, std::vector<Item> batch);
  const Credential* CredentialOf(Job& job);

  const Parts parts_;
};

}  // namespace winnow::collector
