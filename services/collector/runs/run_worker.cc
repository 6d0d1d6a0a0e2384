#include "services/collector/runs/run_worker.h"

#include <set>
#include <utility>

#include "services/collector/sources/feed.h"
#include "services/collector/sources/naver.h"
#include "services/collector/sources/newsdata.h"
#include "services/platform/base/format/charset.h"
#include "services/platform/base/random.h"
#include "services/platform/process/log.h"
#include "services/platform/process/pause.h"

namespace winnow::collector {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kStoreTime{20};
constexpr milliseconds kMaxWait{3'000};  // for a call's turn; longer is the schedule's to wait
constexpr int kMaxTries = 4;
constexpr size_t kBatch = 500;
constexpr size_t kMaxValidator = 512;  // of an ETag
constexpr size_t kVendorBytes = 8 * 1024 * 1024;

Deadline Soon() { return steady_clock::now() + kStoreTime; }

// "per second, wait 1 to 2 s"
milliseconds SoonPause() { return milliseconds(1'100 + static_cast<int>(RandomBits() % 900)); }

std::string Kept(std::string_view validator) {
  return validator.size() <= kMaxValidator ? std::string(validator) : std::string();
}

VendorError ToError(const Status& status) {
  const http::ErrorKind kind = http::KindOf(status);
  const bool refused = kind == http::ErrorKind::kRefusedAddress ||
                       kind == http::ErrorKind::kBadUrl || kind == http::ErrorKind::kRedirects;
  return {refused ? Outcome::kBlocked : Outcome::kUpstream, Remedy::kLater,
          std::string(http::NameOf(kind))};
}

// A feed's answer that is neither 200 nor 304.
VendorError FeedError(int status) {
  VendorError error{Outcome::kUpstream, Remedy::kLater, "HTTP " + std::to_string(status)};
  if (status == 429) error.outcome = Outcome::kRate;
  if (status == 401 || status == 403) error.outcome = Outcome::kBlocked;
  if (status == 410) error = {Outcome::kBlocked, Remedy::kNever, error.code};
  return error;
}

}  // namespace

struct RunWorker::Job {
  std::stop_token stop;
  Source source;
  Run run;
  RunResult result;
  bool began = false;      // a page came: some of its items may be stored
  bool took = false;       // a page came through
  bool all_known = false;  // the last page brought only what was known before this run
  std::set<Hash128Value> seen;

  // Newest comes first, so that behind known items there are known ones: unless a run before left
  // pages out, or the order is another. What this run itself brought says nothing: pages shift
  // while one reads.
  bool ReachedKnown() const { return all_known && !source.unread_pages && !source.by_similarity; }

  bool Fail(const VendorError& error, seconds wait = seconds(0)) {
    // What came before counts: the rest is the next run's, past all that is known by then.
    const bool partly = took && error.remedy != Remedy::kNever && error.outcome != Outcome::kAuth &&
                        error.outcome != Outcome::kQuotaDay;
    run.outcome = partly ? Outcome::kPartial : error.outcome;
    run.code = error.code;
    result.permanent = error.remedy == Remedy::kNever;
    result.wait = wait;
    return false;
  }
};

RunWorker::Report RunWorker::Execute(const Claim& claim, const std::stop_token& stop) {
  Job job;
  job.stop = stop;
  job.source = claim.source;
  job.run.id = claim.source.run_id;
  job.run.source_id = claim.source.id;
  job.run.ns = claim.source.ns;
  job.run.kind = claim.source.kind;
  job.run.requested = claim.requested;
  job.run.begin_time = claim.begin_time;
  job.run.outcome = Outcome::kOk;
  const auto begin = steady_clock::now();
  if (job.source.kind == SourceKind::kNaver) RunNaver(job);
  if (job.source.kind == SourceKind::kNewsData) RunNewsData(job);
  if (job.source.kind == SourceKind::kFeed) RunFeed(job);
  if (job.run.outcome == Outcome::kOk) {
    job.source.unread_pages = false;
  } else if (job.began) {
    job.source.unread_pages = true;
  }
  if (job.run.outcome != Outcome::kOk && job.stop.stop_requested()) {
    job.Fail({Outcome::kPartial, Remedy::kLater, kStopped});
  }
  if (job.run.outcome == Outcome::kOk && job.run.refused_items > 0) {
    job.run.outcome = Outcome::kPartial;
  }
  job.run.end_time =
      job.run.begin_time + std::chrono::duration_cast<Micros>(steady_clock::now() - begin);
  job.result.outcome = job.run.outcome;
  job.result.new_items = job.run.new_items;
  return {std::move(job.run), job.result, std::move(job.source)};
}

const Credential* RunWorker::CredentialOf(Job& job) {
  const Credential* found = FindCredential(parts_.credentials, job.source.credential);
  if (found != nullptr && Serves(*found, job.source.kind)) return found;
  job.Fail({Outcome::kAuth, Remedy::kLater, "the credential is not in the configuration"});
  return nullptr;
}

void RunWorker::RunNaver(Job& job) {
  const Credential* credential = CredentialOf(job);
  if (credential == nullptr) return;
  const NaverRules& rules =
      RulesOf(credential->vendor == Vendor::kNaver ? NaverProfile::kLegacy : NaverProfile::kApiHub);
  http::Request request;
  request.headers = {{std::string(rules.id_header), credential->id},
                     {std::string(rules.secret_header), credential->key}};
  for (int i = 0; i < job.source.max_pages; ++i) {
    const int start = 1 + i * job.source.page_size;
    if (start > kNaverMaxStart) return;
    request.url = NaverUrl(credential->base_url, {job.source.query, job.source.page_size, start,
                                                  !job.source.by_similarity});
    Page page;
    if (!AskVendor(job, *credential, request, ReadNaver, page)) return;
    const bool last = page.items.size() + page.refused < static_cast<size_t>(job.source.page_size);
    if (!Take(job, std::move(page)) || last || job.ReachedKnown()) return;
  }
}

void RunWorker::RunNewsData(Job& job) {
  const Credential* credential = CredentialOf(job);
  if (credential == nullptr) return;
  const Source& source = job.source;
  http::Request request;
  request.headers = {{std::string(kNewsDataKeyHeader), credential->key}};
  NewsDataQuery query{source.query,
                      source.country,
                      source.language,
                      source.category,
                      source.timeframe,
                      source.page_size,
                      ""};
  for (int i = 0; i < source.max_pages; ++i) {
    request.url = NewsDataUrl(credential->base_url, query);
    Page page;
    if (!AskVendor(job, *credential, request, ReadNewsData, page)) return;
    query.page = page.next;
    if (!Take(job, std::move(page)) || query.page.empty() || job.ReachedKnown()) return;
  }
}

bool RunWorker::Reserve(Job& job, const Credential& credential) {
  for (;;) {
    const StatusOr<Grant> grant = parts_.ledger.Reserve(Soon(), credential);
    if (!grant.ok()) {
      log::Warn("collector: no call can be reserved", {{"error", grant.status().ToString()}});
      return job.Fail({Outcome::kUpstream, Remedy::kLater, "store"});
    }
    if (grant->granted) return true;
    const milliseconds wait = parts_.ledger.WaitOf(credential, *grant);
    if (grant->why != Outcome::kRate || wait > kMaxWait) {
      return job.Fail({grant->why, Remedy::kLater, "quota"}, std::chrono::ceil<seconds>(wait));
    }
    if (!Pause(job.stop, wait)) return job.Fail({Outcome::kPartial, Remedy::kLater, kStopped});
  }
}

bool RunWorker::AskVendor(Job& job, const Credential& credential, const http::Request& given,
                          Reader read, Page& page) {
  http::Request request = given;
  request.timeout = parts_.vendor_timeout;
  request.max_body = kVendorBytes;
  request.max_redirects = 0;  // the key goes nowhere else
  request.cancelled = [&job] { return job.stop.stop_requested(); };
  for (int tries = 1;; ++tries) {
    const LedgerClient::Turn turn = parts_.ledger.TakeTurn(credential);
    if (!Reserve(job, credential)) return false;
    ++job.run.calls;
    const StatusOr<http::Response> response = parts_.client.Fetch(request);
    if (!response.ok()) return job.Fail(ToError(response.status()));
    VendorAnswer answer = read(response->status, response->body);
    const auto wait = parts_.ledger.Settle(Soon(), credential, *response, answer.error);
    if (!wait.ok()) {
      log::Warn("collector: the quota ledger was not updated",
                {{"error", wait.status().ToString()}});
      return job.Fail({Outcome::kUpstream, Remedy::kLater, "store"});
    }
    if (!answer.error) {
      page = std::move(answer.page);
      return true;
    }
    const bool soon = answer.error->remedy == Remedy::kSoon && tries < kMaxTries;
    if (!soon || !Pause(job.stop, SoonPause())) return job.Fail(*answer.error, *wait);
  }
}

void RunWorker::RunFeed(Job& job) {
  Source& source = job.source;
  http::Request request;
  request.url = source.url;
  request.timeout = parts_.feed_timeout;
  request.max_body = kMaxFeedBytes;
  request.cancelled = [&job] { return job.stop.stop_requested(); };
  request.headers = {{"Accept", "application/rss+xml, application/atom+xml, application/xml, */*"}};
  if (!source.feed_etag.empty()) request.headers.push_back({"If-None-Match", source.feed_etag});
  if (!source.feed_modified.empty()) {
    request.headers.push_back({"If-Modified-Since", source.feed_modified});
  }
  ++job.run.calls;
  const StatusOr<http::Response> response = parts_.client.Fetch(request);
  if (!response.ok()) {
    job.Fail(ToError(response.status()));
    return;
  }
  if (response->status == 304) return;
  if (response->status != 200) {
    const auto wait = http::RetryAfter(*response, parts_.clock.Now());
    job.Fail(FeedError(response->status), wait.value_or(seconds(0)));
    return;
  }
  StatusOr<Feed> feed = ReadFeed(
      response->body, {response->url, CharsetOfContentType(response->Find("content-type"))});
  if (!feed.ok()) {
    job.Fail({Outcome::kParse, Remedy::kLater, "no feed"});
    return;
  }
  // Only what was stored whole is not asked for again.
  if (!Take(job, std::move(feed->page))) return;
  source.feed_etag = Kept(response->Find("etag"));
  source.feed_modified = Kept(response->Find("last-modified"));
}

bool RunWorker::Take(Job& job, Page page) {
  job.began = true;
  const Run before = job.run;
  job.run.refused_items += static_cast<int64_t>(page.refused);
  const Time now = parts_.clock.Now();
  std::vector<Item> batch;
  for (size_t i = 0; i < page.items.size(); ++i) {
    Item& item = page.items[i];
    item.ns = job.source.ns;
    if (!job.source.channel.empty()) item.channel = job.source.channel;
    for (const std::string& category : job.source.categories) {
      item.source_categories.push_back(category);
    }
    item.source_categories = TakeWords(item.source_categories, kMaxCategories);
    Violations violations;
    Accept(item, now, "item", violations);
    if (!violations.empty()) {
      ++job.run.refused_items;
    } else if (job.seen.insert(IdentityOf(item)).second) {
      batch.push_back(std::move(item));
    }
    if (batch.size() < kBatch && i + 1 < page.items.size()) continue;
    if (!TakeBatch(job, std::exchange(batch, {}))) return false;
  }
  job.took = true;
  job.all_known = job.run.new_items == before.new_items && job.run.known_items > before.known_items;
  return true;
}

bool RunWorker::TakeBatch(Job& job, std::vector<Item> batch) {
  const auto fail = [&](const Status& status) {
    log::Warn("collector: items are not stored", {{"error", status.ToString()}});
    return job.Fail({Outcome::kUpstream, Remedy::kLater, "store"});
  };
  const auto known = parts_.items.FindKnown(Soon(), batch);
  if (!known.ok()) return fail(known.status());
  std::vector<Item> fresh;
  for (size_t i = 0; i < batch.size(); ++i) {
    if ((*known)[i]) {
      ++job.run.known_items;
    } else {
      fresh.push_back(std::move(batch[i]));
    }
  }
  if (!job.source.skip_images) {
    const auto images = parts_.images.Find(Soon() + std::chrono::minutes(5), fresh, job.stop);
    if (!images.ok()) return fail(images.status());
    job.run.fetched_pages += images->fetched;
    job.run.found_images += images->found;
  }
  if (job.stop.stop_requested()) {
    return job.Fail({Outcome::kPartial, Remedy::kLater, kStopped});
  }
  const auto put = parts_.items.Put(Soon(), std::move(fresh), "");
  if (!put.ok()) return fail(put.status());
  int64_t created = 0;
  for (const StatusOr<PutItem>& one : *put) {
    if (!one.ok()) {
      ++job.run.refused_items;
    } else if (one->created) {
      ++created;
    } else {
      ++job.run.known_items;
    }
  }
  if (created > 0 && parts_.transport != nullptr) parts_.transport->Wake("collector");
  job.run.new_items += created;
  return true;
}

}  // namespace winnow::collector
