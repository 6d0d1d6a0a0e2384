#pragma once

#include "services/collector/sources/source.h"
#include "services/platform/postgres/session/session.h"

// Rows of collector.sources and collector.runs, to and from the domain.
namespace winnow::collector {

Source ToSource(const pqxx::row& row);
Run ToRun(const pqxx::row& row);

// The columns from id to max_interval_seconds, as $1 to $19.
pg::Parameters SourceParameters(const Source& source);
// All columns of a run, as $1 to $15.
pg::Parameters RunParameters(const Run& run);

std::string ToArrayLiteral(const std::vector<std::string>& words);

}  // namespace winnow::collector
