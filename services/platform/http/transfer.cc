#include "services/platform/http/transfer.h"

#include <unistd.h>

#include <algorithm>

#include "services/platform/base/ascii.h"
#include "services/platform/base/url/error_kind.h"
#include "services/platform/http/address.h"

namespace winnow::http {
namespace {

constexpr size_t kMaxHeaderBytes = 64 * 1024;
constexpr std::chrono::milliseconds kConnectTime{5'000};

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

template <class Value>
void Set(CURL* handle, CURLoption option, Value value) {
  curl_easy_setopt(handle, option, value);
}

}  // namespace

Transfer::Transfer(CURL* handle, const Request& request, const Target& target, bool trusted)
    : handle_(handle), request_(request), target_(target), trusted_(trusted) {
  SetUp();
}

void Transfer::SetUp() {
  Set(handle_, CURLOPT_URL, target_.url.c_str());
  Set(handle_, CURLOPT_PROTOCOLS_STR, "http,https");
  Set(handle_, CURLOPT_FOLLOWLOCATION, 0L);
  Set(handle_, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  Set(handle_, CURLOPT_PROXY, "");  // none, whatever the environment says
  Set(handle_, CURLOPT_NOSIGNAL, 1L);
  Set(handle_, CURLOPT_QUICK_EXIT, 1L);  // a name lookup that hangs must not block
  Set(handle_, CURLOPT_ACCEPT_ENCODING, "gzip, deflate");
  Set(handle_, CURLOPT_OPENSOCKETFUNCTION, &Transfer::OnSocket);
  Set(handle_, CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
  Set(handle_, CURLOPT_HEADERFUNCTION, &Transfer::OnHeader);
  Set(handle_, CURLOPT_HEADERDATA, static_cast<void*>(this));
  Set(handle_, CURLOPT_WRITEFUNCTION, &Transfer::OnBody);
  Set(handle_, CURLOPT_WRITEDATA, static_cast<void*>(this));
  Set(handle_, CURLOPT_XFERINFOFUNCTION, &Transfer::OnProgress);
  Set(handle_, CURLOPT_XFERINFODATA, static_cast<void*>(this));
  Set(handle_, CURLOPT_NOPROGRESS, 0L);
  if (request_.method == "POST") {
    Set(handle_, CURLOPT_POST, 1L);
    Set(handle_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    Set(handle_, CURLOPT_POSTFIELDS, request_.body.c_str());
  } else {
    Set(handle_, CURLOPT_HTTPGET, 1L);
  }
}

Status Transfer::Run(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  if (left.count() <= 0) return ToError(CURLE_OPERATION_TIMEDOUT);
  Set(handle_, CURLOPT_TIMEOUT_MS, static_cast<long>(left.count()));
  Set(handle_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::min(left, kConnectTime).count()));
  const CURLcode code = curl_easy_perform(handle_);
  long status = 0;
  curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
  response_.status = static_cast<int>(status);
  response_.url = target_.url;
  if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && response_.stopped_early)) {
    return OkStatus();
  }
  return ToError(code);
}

std::string Transfer::Location() const {
  return IsRedirect(response_.status) ? std::string(response_.Find("location")) : "";
}

// The one place where a connection can begin: the address here is the one it will go to, so that a
// name which answers differently the next time gains nothing.
curl_socket_t Transfer::OnSocket(void* self, curlsocktype purpose, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(self);
  const bool may = purpose == CURLSOCKTYPE_IPCXN &&
                   (address->family == AF_INET || address->family == AF_INET6) &&
                   (transfer.trusted_ || IsGlobalAddress(address->addr));
  if (!may) {
    transfer.refused_ = true;
    return CURL_SOCKET_BAD;
  }
  transfer.connected_to_ = true;
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

size_t Transfer::OnHeader(char* data, size_t size, size_t count, void* self) {
  const size_t bytes = size * count;
  return static_cast<Transfer*>(self)->TakeHeader({data, bytes}) ? bytes : 0;
}

bool Transfer::TakeHeader(std::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > kMaxHeaderBytes) {
    too_large_ = true;
    return false;
  }
  if (line.starts_with("HTTP/")) {  // also after 100 Continue: only the last answer counts
    response_.headers.clear();
    return true;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return true;
  response_.headers.push_back(
      {LowerAscii(line.substr(0, colon)), std::string(Trim(line.substr(colon + 1)))});
  return true;
}

size_t Transfer::OnBody(char* data, size_t size, size_t count, void* self) {
  const size_t bytes = size * count;
  // Anything but the number of bytes makes libcurl stop.
  return static_cast<Transfer*>(self)->TakeBody({data, bytes}) ? bytes : bytes + 1;
}

bool Transfer::TakeBody(std::string_view piece) {
  body_bytes_ += piece.size();
  if (body_bytes_ > request_.max_body) {
    too_large_ = true;
    return false;
  }
  if (!request_.on_body) {
    response_.body.append(piece);
    return true;
  }
  long status = 0;
  curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
  if (IsRedirect(static_cast<int>(status)) && !response_.Find("location").empty()) return true;
  if (request_.on_body(piece)) return true;
  response_.stopped_early = true;
  return false;
}

int Transfer::OnProgress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const Request& request = static_cast<Transfer*>(self)->request_;
  return request.cancelled && request.cancelled() ? 1 : 0;
}

Status Transfer::ToError(CURLcode code) const {
  const std::string where = target_.authority() + " ";
  const std::string why = std::string(": ") + curl_easy_strerror(code);
  if (too_large_) {
    return MakeError(ErrorKind::kTooLarge, where + "answered more than is taken");
  }
  if (refused_ && !connected_to_) {
    return MakeError(ErrorKind::kRefusedAddress,
                     where + "has no public address: only configured origins may be private");
  }
  switch (code) {
    case CURLE_URL_MALFORMAT:  // a host that IDN does not have
      return MakeError(ErrorKind::kBadUrl, "has no usable host");
    case CURLE_COULDNT_RESOLVE_HOST:
      return MakeError(ErrorKind::kDns, where + "has no address");
    case CURLE_OPERATION_TIMEDOUT:
      return MakeError(ErrorKind::kTimeout, where + "took longer than the request may");
    case CURLE_ABORTED_BY_CALLBACK:
      return MakeError(ErrorKind::kCancelled, "the request was given up");
    case CURLE_COULDNT_CONNECT:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
      return MakeError(ErrorKind::kConnect, where + "cannot be reached" + why);
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return MakeError(ErrorKind::kTls, where + "has no trusted TLS" + why);
    default:
      return MakeError(ErrorKind::kProtocol, where + "did not answer as HTTP has it" + why);
  }
}

}  // namespace winnow::http
