#pragma once

#include <chrono>
#include <string>

#include "services/app/import/field_report.h"
#include "services/app/import/tally.h"

namespace winnow::app {

// The end of an import on standard output, for people.
void PrintReport(const std::string& title, const Tally& tally, const FieldReport& fields,
                 std::chrono::duration<double> time);

// The same as one JSON object, for programs.
void PrintJsonReport(const Tally& tally, const FieldReport& fields,
                     std::chrono::duration<double> time);

}  // namespace winnow::app
