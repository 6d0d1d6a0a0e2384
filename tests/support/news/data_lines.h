#pragma once

#include <simdjson.h>

#include <functional>
#include <string>

namespace winnow::test {

// Calls `take` with each line of a gzipped file of JSON lines: `name` within WINNOW_DATA, or within
// ../shared/data beside the repository. False where the file is not there. Throws when it is bad.
bool ForEachDataLine(const std::string& name,
                     const std::function<void(const simdjson::dom::element& line)>& take);

// A member that is text; empty when there is none.
std::string TextOf(const simdjson::dom::element& line, const char* key);

}  // namespace winnow::test
