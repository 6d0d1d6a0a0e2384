#include "services/platform/http/client.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <mutex>
#include <set>

#include "services/platform/base/url/error_kind.h"
#include "services/platform/base/url/target.h"
#include "services/platform/http/transfer.h"

namespace winnow::http {
namespace {

constexpr std::chrono::hours kMaxRetryAfter{24};

using Handle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using List = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

// Once a process, before threads use libcurl; never undone.
void InitCurl() {
  static const CURLcode done = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)done;
}

Status CheckHeaders(const std::vector<Header>& headers) {
  const auto breaks = [](const std::string& text) {
    return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos;
  };
  for (const Header& header : headers) {
    if (header.name.empty() || breaks(header.name) || breaks(header.value)) {
      return MakeError(ErrorKind::kBadUrl, "a header holds a line break or has no name");
    }
  }
  return OkStatus();
}

List ToList(const std::vector<std::string>& lines) {
  curl_slist* list = nullptr;
  for (const std::string& line : lines) list = curl_slist_append(list, line.c_str());
  return {list, &curl_slist_free_all};
}

List ToList(const std::vector<Header>& headers) {
  std::vector<std::string> lines = {"Expect:"};  // else a POST waits for "100 Continue"
  for (const Header& header : headers) lines.push_back(header.name + ": " + header.value);
  return ToList(lines);
}

}  // namespace

struct Client::State {
  State(ClientOptions given, Metrics& given_metrics)
      : options(std::move(given)),
        metrics(given_metrics),
        allow(options.allow.begin(), options.allow.end()),
        resolve(ToList(options.resolve)) {}

  // A handle keeps the connections of its last requests: one that has just been at the same origin
  // is taken first.
  struct Idle {
    std::string origin;
    Handle handle;
  };

  Handle Take(const std::string& origin) {
    {
      const std::lock_guard lock(mutex);
      auto found = std::find_if(idle.rbegin(), idle.rend(),
                                [&](const Idle& one) { return one.origin == origin; });
      if (found != idle.rend()) {
        Handle handle = std::move(found->handle);
        idle.erase(std::next(found).base());
        return handle;
      }
    }
    return {curl_easy_init(), &curl_easy_cleanup};
  }

  void GiveBack(const std::string& origin, Handle handle) {
    curl_easy_reset(handle.get());                   // keeps its connections
    Idle oldest{"", {nullptr, &curl_easy_cleanup}};  // closed outside the lock
    const std::lock_guard lock(mutex);
    idle.push_back({origin, std::move(handle)});
    if (idle.size() <= options.idle_connections) return;
    std::swap(oldest, idle.front());
    idle.erase(idle.begin());
  }

  // Where a request may go at all; its addresses are vetted when it connects.
  Status CheckPort(const Target& target) const {
    if (allow.contains(target.authority()) || target.port == 80 || target.port == 443) {
      return OkStatus();
    }
    return MakeError(ErrorKind::kBadUrl,
                     "has port " + std::to_string(target.port) + ": only 80 and 443 are allowed");
  }

  // One hop. Where to go on is left in `location`.
  StatusOr<Response> Hop(const Request& request, const Target& target, bool own_origin,
                         Deadline deadline, std::string& location) {
    Handle handle = Take(target.authority());
    if (!handle) return Internal("libcurl gives no handle");
    const List headers = ToList(own_origin ? request.headers : std::vector<Header>{});
    Transfer transfer(handle.get(), request, target, allow.contains(target.authority()));
    curl_easy_setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(handle.get(), CURLOPT_USERAGENT, options.user_agent.c_str());
    if (resolve) curl_easy_setopt(handle.get(), CURLOPT_RESOLVE, resolve.get());
    if (!options.ca_file.empty()) {
      curl_easy_setopt(handle.get(), CURLOPT_CAINFO, options.ca_file.c_str());
    }
    const Status status = transfer.Run(deadline);
    if (status.ok()) GiveBack(target.authority(), std::move(handle));
    WINNOW_RETURN_IF_ERROR(status);
    location = transfer.Location();
    return std::move(transfer.response());
  }

  StatusOr<Response> Follow(const Request& request) {
    const Deadline deadline = std::chrono::steady_clock::now() + request.timeout;
    WINNOW_RETURN_IF_ERROR(CheckHeaders(request.headers));
    WINNOW_ASSIGN_OR_RETURN(Target target, ParseTarget(request.url));
    const std::string origin = target.origin();
    for (int redirects = 0;; ++redirects) {
      WINNOW_RETURN_IF_ERROR(CheckPort(target));
      std::string location;
      WINNOW_ASSIGN_OR_RETURN(Response response,
                              Hop(request, target, target.origin() == origin, deadline, location));
      if (location.empty() || request.method != "GET" || request.max_redirects == 0) {
        return response;
      }
      if (redirects == request.max_redirects) {
        return MakeError(ErrorKind::kRedirects, target.authority() + " redirects for ever");
      }
      WINNOW_ASSIGN_OR_RETURN(target, Resolve(target, location));
    }
  }

  void Count(const Status& status, double seconds) {
    const std::string outcome(NameOf(KindOf(status)));
    metrics
        .GetCounter("winnow_http_requests_total", "Requests to other servers, by outcome.",
                    {{"client", options.name}, {"outcome", outcome}})
        .Increment();
    metrics
        .GetHistogram("winnow_http_request_seconds", "Time of requests to other servers.",
                      Metrics::LatencyBuckets(), {{"client", options.name}})
        .Observe(seconds);
  }

  const ClientOptions options;
  Metrics& metrics;
  const std::set<std::string> allow;
  const List resolve;
  std::mutex mutex;
  std::vector<Idle> idle;  // oldest first
};

Client::Client(ClientOptions options, Metrics& metrics) {
  InitCurl();
  state_ = std::make_unique<State>(std::move(options), metrics);
}

Client::~Client() = default;

StatusOr<Response> Client::Fetch(const Request& request) {
  const auto begin = std::chrono::steady_clock::now();
  StatusOr<Response> response = state_->Follow(request);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  state_->Count(response.status(), took.count());
  return response;
}

std::string_view Response::Find(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [&](const Header& header) { return header.name == name; });
  return found == headers.end() ? std::string_view() : std::string_view(found->value);
}

std::optional<std::chrono::seconds> RetryAfter(const Response& response, Time now) {
  const std::string value(response.Find("retry-after"));
  if (value.empty()) return std::nullopt;
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (error == std::errc::result_out_of_range) return kMaxRetryAfter;
  if (error != std::errc() || end != value.data() + value.size()) {
    const time_t date = curl_getdate(value.c_str(), nullptr);
    if (date == -1) return std::nullopt;
    seconds = date - std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  }
  return std::chrono::seconds(
      std::clamp<int64_t>(seconds, 0, std::chrono::seconds(kMaxRetryAfter).count()));
}

Status ToStatus(const Response& response, Time now) {
  const auto target = ParseTarget(response.url);
  const std::string text = (target.ok() ? target->authority() : "the server") + " answered HTTP " +
                           std::to_string(response.status);
  Status status = MakeError(ErrorKind::kHttpStatus, text);
  const bool passing = response.status == 408 || response.status == 429 || response.status >= 500;
  if (!passing) return status;
  const auto wait = RetryAfter(response, now).value_or(std::chrono::seconds(1));
  Status retry = Unavailable(Reason::kPeerUnavailable, text, wait);
  status.ForEachPayload([&](const auto& name, const absl::Cord& value) {
    if (!retry.GetPayload(name)) retry.SetPayload(name, value);
  });
  return retry;
}

StatusOr<std::string> PostJson(Client& client, const JsonPost& post, Time now) {
  Request request;
  request.method = "POST";
  request.url = post.url;
  request.headers = post.headers;
  request.headers.push_back({"Content-Type", "application/json"});
  request.headers.push_back({"Accept", "application/json"});
  request.body = post.body;
  request.timeout = post.timeout;
  request.max_body = post.max_body;
  WINNOW_ASSIGN_OR_RETURN(Response response, client.Fetch(request));
  if (response.status / 100 != 2) return ToStatus(response, now);
  return std::move(response.body);
}

}  // namespace winnow::http
