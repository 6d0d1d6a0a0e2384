#pragma once

#include <string>
#include <vector>

#include "services/platform/base/format/json_reader.h"

// Values of vendors' JSON, whatever kind they turn out to be: each reads one value and answers what
// can be made of it.
namespace winnow::collector {

// A string; a number as it is spelled; empty for anything else.
std::string ReadText(JsonReader& in);
// The strings of a list, or a string alone; empty for anything else.
std::vector<std::string> ReadTexts(JsonReader& in);

}  // namespace winnow::collector
