#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/base/url/error_kind.h"
#include "services/platform/process/metrics.h"

// The one HTTP client (docs/adr/0007). It connects to global addresses only, unless its allow rule
// names the origin; libcurl stays behind this header.
namespace winnow::http {

struct Header {
  std::string name;
  std::string value;
};

struct Request {
  std::string method = "GET";  // or "POST"; a POST is never redirected
  std::string url;
  std::vector<Header> headers;  // go to the URL's own origin only, never to where it redirects
  std::string body;
  std::chrono::milliseconds timeout{10'000};  // of the whole, redirects and name lookup included
  size_t max_body = 1024 * 1024;              // bytes after decompression
  int max_redirects = 5;
  // Takes the body of a final answer in pieces, as it comes; false: enough, stop here. Without it
  // the body is collected in the response.
  std::function<bool(std::string_view piece)> on_body;
  // Asked about once a second: true gives up.
  std::function<bool()> cancelled;
};

struct Response {
  int status = 0;
  std::vector<Header> headers;  // of the final answer; names in lower case
  std::string body;
  std::string url;             // the final one
  bool stopped_early = false;  // on_body had enough
  // The value of the first header of this lower-case name; empty if there is none.
  std::string_view Find(std::string_view name) const;
};

struct ClientOptions {
  std::string name;  // label of its metrics: "source", "image", "embedder", ...
  // Origins as HOST:PORT that the operator configured: any port, any address, also a private one.
  // Everything else is reached at global addresses and ports 80 and 443 only.
  std::vector<std::string> allow;
  std::string user_agent = "winnow";
  size_t idle_connections = 8;  // kept alive, over all origins
  // PEM file of the authorities that certificates must come from. Default: the system's.
  std::string ca_file{};
  // "HOST:PORT:ADDRESS": what a name resolves to, for tests. Addresses are vetted all the same.
  std::vector<std::string> resolve{};
};

// Thread-safe. Sends no cookies, uses no proxy of the environment, logs nothing.
class Client {
 public:
  Client(ClientOptions options, Metrics& metrics);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // The answer, whatever its HTTP status is. Errors carry an ErrorKind: INVALID_ARGUMENT (bad URL),
  // FAILED_PRECONDITION (refused address, redirects, too large), DEADLINE_EXCEEDED, CANCELLED, else
  // UNAVAILABLE. They name the host and never a query, a header or a body.
  StatusOr<Response> Fetch(const Request& request);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// POSTs JSON and answers the body of a 2xx. Any other status is an error of kind kHttpStatus:
// UNAVAILABLE for 408, 429 and 5xx, with RetryInfo where the answer had Retry-After, else
// FAILED_PRECONDITION.
struct JsonPost {
  std::string url;
  std::vector<Header> headers;  // besides Content-Type and Accept
  std::string body;
  std::chrono::milliseconds timeout{10'000};
  size_t max_body = 8 * 1024 * 1024;
};
StatusOr<std::string> PostJson(Client& client, const JsonPost& post, Time now);

// The error that PostJson makes of an answer that is not 2xx.
Status ToStatus(const Response& response, Time now);

// Retry-After, in seconds or as a date; nullopt when absent or malformed, at least 0, at most a
// day.
std::optional<std::chrono::seconds> RetryAfter(const Response& response, Time now);

// HOST:PORT of an http or https URL, as `allow` wants it. Error: kind kBadUrl.
StatusOr<std::string> OriginOf(const std::string& url);

}  // namespace winnow::http
