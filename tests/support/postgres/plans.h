#pragma once

#include <map>
#include <string>

#include "services/platform/postgres/pool/pool.h"

namespace winnow::test {

// How PostgreSQL runs each statement that `pool`, of one connection, has executed: name -> EXPLAIN
// of the plan that is kept for all parameters, made for the tables as they are now. A plan made for
// a small table, never analysed, is kept when the table is large: look for "Seq Scan on <table>".
std::map<std::string, std::string> KeptPlans(pg::Pool& pool);

}  // namespace winnow::test
