#include "tests/support/postgres/plans.h"

#include <stdexcept>

namespace winnow::test {
namespace {

std::string Explain(pg::Session& session, const std::string& name, int parameters) {
  std::string nulls;
  for (int i = 0; i < parameters; ++i) nulls += i == 0 ? "(NULL" : ", NULL";
  if (parameters > 0) nulls += ")";
  std::string plan;
  for (const auto& line : session.ExecuteText("EXPLAIN EXECUTE \"" + name + "\"" + nulls)) {
    plan.append(line[0].c_str()).append("\n");
  }
  return plan;
}

}  // namespace

std::map<std::string, std::string> KeptPlans(pg::Pool& pool) {
  using Plans = std::map<std::string, std::string>;
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const StatusOr<Plans> plans =
      pool.Transaction(deadline, [](pg::Session& session) -> StatusOr<Plans> {
        session.ExecuteText("SET LOCAL plan_cache_mode = force_generic_plan");
        Plans out;
        for (const auto& row : session.ExecuteText(
                 "SELECT name, cardinality(parameter_types) FROM pg_prepared_statements")) {
          const auto name = row[0].as<std::string>();
          out[name] = Explain(session, name, row[1].as<int>());
        }
        return out;
      });
  if (!plans.ok()) throw std::runtime_error(plans.status().ToString());
  return *plans;
}

}  // namespace winnow::test
