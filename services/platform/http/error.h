#pragma once

#include <string>

#include "services/platform/http/client.h"
#include "services/platform/status.h"

namespace winnow::http {

// A Status of the code that belongs to the kind, which KindOf reads back.
Status MakeError(ErrorKind kind, std::string message);

}  // namespace winnow::http
