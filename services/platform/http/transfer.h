#pragma once

#include <curl/curl.h>

#include <string>

#include "services/platform/base/clock.h"
#include "services/platform/base/url/target.h"
#include "services/platform/http/client.h"

namespace winnow::http {

// One request and its answer on a libcurl handle: no redirects.
class Transfer {
 public:
  // `trusted`: the operator configured this origin, so any address will do.
  Transfer(CURL* handle, const Request& request, const Target& target, bool trusted);

  // Before Run.
  Status Run(Deadline deadline);

  Response& response() { return response_; }
  // Where the answer sends us on; empty when it does not.
  std::string Location() const;

 private:
  // Called by libcurl.
  static curl_socket_t OnSocket(void* self, curlsocktype purpose, curl_sockaddr* address);
  static size_t OnHeader(char* data, size_t size, size_t count, void* self);
  static size_t OnBody(char* data, size_t size, size_t count, void* self);
  static int OnProgress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

  void SetUp();
  bool TakeHeader(std::string_view line);
  bool TakeBody(std::string_view piece);
  Status ToError(CURLcode code) const;

  CURL* const handle_;
  const Request& request_;
  const Target& target_;
  const bool trusted_;
  Response response_;
  size_t header_bytes_ = 0;
  size_t body_bytes_ = 0;
  bool refused_ = false;       // an address
  bool connected_to_ = false;  // one was tried
  bool too_large_ = false;
};

}  // namespace winnow::http
