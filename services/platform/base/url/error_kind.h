#pragma once

#include <string>
#include <string_view>

#include "services/platform/base/status.h"

namespace winnow::http {

// Why there is no answer. A closed set: labels of metrics, outcomes of runs.
enum class ErrorKind {
  kNone,            // no error of this client
  kBadUrl,          // not http or https, userinfo, another port than 80 and 443, over-long
  kDns,             // the name has no address
  kRefusedAddress,  // it has, but none that may be connected to
  kConnect,         // refused, reset, unreachable
  kTls,             // handshake or certificate
  kTimeout,         // the whole request took longer than it may
  kTooLarge,        // more headers, or more body after decompression, than the caller takes
  kRedirects,       // too many, or one without a place to go
  kProtocol,        // not HTTP, cut off, or not decompressible
  kHttpStatus,      // an answer that PostJson's caller did not ask for: not 2xx
  kCancelled,       // the caller gave up
};
std::string_view NameOf(ErrorKind kind);  // "bad_url", "dns", ...
ErrorKind KindOf(const Status& status);

// A Status of the code that belongs to the kind, which KindOf reads back.
Status MakeError(ErrorKind kind, std::string message);

}  // namespace winnow::http
