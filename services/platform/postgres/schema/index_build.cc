#include "services/platform/postgres/schema/index_build.h"

#include <sstream>
#include <vector>

#include "services/platform/postgres/session/schema_name.h"
#include "services/platform/process/log.h"

namespace winnow::pg {
namespace {

constexpr std::string_view kConcurrently = "CONCURRENTLY";

constexpr Statement kIndexState = {
    "platform.migrate_index_state",
    "SELECT i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
    "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2"};

std::vector<std::string> Words(const std::string& statement) {
  std::istringstream in(statement);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

Status Unrecoverable(const std::string& statement) {
  return Internal("write CREATE [UNIQUE] INDEX CONCURRENTLY name ON schema.table (...), not: " +
                  statement);
}

}  // namespace

StatusOr<std::optional<IndexBuild>> ParseIndexBuild(const std::string& statement) {
  const std::vector<std::string> words = Words(statement);
  size_t at = 0;
  const auto next = [&](std::string_view word) {
    const bool found = at < words.size() && words[at] == word;
    if (found) ++at;
    return found;
  };
  if (!next("CREATE")) return std::nullopt;
  next("UNIQUE");
  if (!next("INDEX")) return std::nullopt;
  if (!next(kConcurrently) || at + 3 > words.size() || words[at + 1] != "ON") {
    return Unrecoverable(statement);
  }
  const std::string& table = words[at + 2];
  const size_t dot = table.find('.');
  if (dot == std::string::npos) return Unrecoverable(statement);
  IndexBuild build{table.substr(0, dot), table.substr(dot + 1), words[at]};
  build.table = build.table.substr(0, build.table.find('('));
  for (const std::string& name : {build.schema, build.table, build.index}) {
    if (!CheckSchemaName(name).ok()) return Unrecoverable(statement);
  }
  return build;
}

bool IsConcurrent(const std::string& statement) {
  return statement.find(kConcurrently) != std::string::npos;
}

void BuildIndex(Session& session, const IndexBuild& build, const std::string& statement) {
  const pqxx::result state = session.Execute(kIndexState, build.schema, build.index);
  if (!state.empty() && state[0][0].as<bool>()) return;
  if (!state.empty()) {
    log::Warn("an unfinished index is dropped and built again",
              {{"schema", build.schema}, {"index", build.index}});
    session.ExecuteText("DROP INDEX CONCURRENTLY " + build.schema + "." + build.index);
  }
  session.ExecuteText(statement);
}

std::string WithoutConcurrently(const std::string& statement) {
  std::string plain = statement;
  const size_t found = plain.find(kConcurrently);
  if (found != std::string::npos) plain.erase(found, kConcurrently.size() + 1);
  return plain;
}

}  // namespace winnow::pg
