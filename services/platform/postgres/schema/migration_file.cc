#include "services/platform/postgres/schema/migration_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>

#include "services/platform/base/hash.h"

namespace winnow::pg {
namespace {

constexpr std::array<std::string_view, 4> kKeys = {"oldest-compatible", "transaction",
                                                   "former-checksum", "contract"};

struct Declaration {
  std::string_view key;
  std::string_view value;
};

// The first line of `text`, without its line break.
std::string_view FirstLine(std::string_view text) { return text.substr(0, text.find('\n')); }

void DropFirstLine(std::string_view& text) {
  text.remove_prefix(std::min(FirstLine(text).size() + 1, text.size()));
}

std::optional<Declaration> ReadDeclaration(std::string_view line) {
  constexpr std::string_view kComment = "-- ";
  if (!line.starts_with(kComment)) return std::nullopt;
  line.remove_prefix(kComment.size());
  const size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view key = line.substr(0, colon);
  if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) return std::nullopt;
  return Declaration{key, line.substr(colon + 2)};
}

std::string Checksum(std::string_view text) {
  const Hash128Value hash = Hash128(text);
  std::array<char, 33> hex;
  const int length = std::snprintf(hex.data(), hex.size(), "%016llx%016llx",
                                   static_cast<unsigned long long>(hash.high),
                                   static_cast<unsigned long long>(hash.low));
  return std::string(hex.data(), static_cast<size_t>(length));
}

bool IsChecksum(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The statements of `sql`, each ended by a semicolon at the end of a line, without whole lines of
// comment.
std::vector<std::string> SplitStatements(std::string_view sql) {
  std::vector<std::string> statements;
  std::string statement;
  while (!sql.empty()) {
    std::string_view line = FirstLine(sql);
    DropFirstLine(sql);
    if (line.empty() || line.starts_with("--")) continue;
    const bool last = line.ends_with(';');
    if (last) line.remove_suffix(1);
    if (!statement.empty()) statement += '\n';
    statement += line;
    if (last) statements.push_back(std::exchange(statement, ""));
  }
  if (!statement.empty()) statements.push_back(statement);
  return statements;
}

Status Wrong(const MigrationFile& file, const std::string& schema, std::string_view what) {
  return Internal("migration " + file.name + " of schema " + schema + " " + std::string(what));
}

Status ReadTransaction(const std::string& schema, MigrationFile& file) {
  file.statements = SplitStatements(file.sql);
  if (file.statements.empty()) return Wrong(file, schema, "has no statement");
  if (file.sql.find("$$") == std::string_view::npos) return OkStatus();
  return Wrong(file, schema, "has a function body, which belongs into a file with a transaction");
}

Status ReadDeclarations(const std::string& schema, std::string_view text, MigrationFile& file) {
  bool in_transaction = true;
  std::optional<Version> oldest;
  while (const std::optional<Declaration> declared = ReadDeclaration(FirstLine(text))) {
    DropFirstLine(text);
    const auto& [key, value] = *declared;
    if (key == "oldest-compatible") {
      if (oldest) return Wrong(file, schema, "declares oldest-compatible twice");
      oldest = ParseVersion(value);
      if (!oldest)
        return Wrong(file, schema, "declares an oldest-compatible that is not a version");
    } else if (key == "transaction") {
      if (value != "none") return Wrong(file, schema, "declares a transaction other than none");
      in_transaction = false;
    } else if (key == "former-checksum") {
      if (!IsChecksum(value)) return Wrong(file, schema, "declares a bad former-checksum");
      file.former_checksums.emplace_back(value);
    }
  }
  if (!oldest)
    return Wrong(file, schema, "does not declare -- oldest-compatible: X.Y.Z at its top");
  file.oldest_compatible = *oldest;
  file.sql = text;
  file.checksum = Checksum(text);
  return in_transaction ? OkStatus() : ReadTransaction(schema, file);
}

}  // namespace

StatusOr<std::vector<MigrationFile>> ReadMigrationFiles(const std::string& schema,
                                                        std::span<const embedded::File> files) {
  std::vector<MigrationFile> read;
  for (const embedded::File& each : files) {
    MigrationFile& file = read.emplace_back();
    file.name = std::string(each.name);
    std::from_chars(each.name.data(), each.name.data() + each.name.size(), file.version);
    if (file.version != std::ssize(read)) {
      return Wrong(file, schema, "is out of order: files are numbered 0001, 0002, ...");
    }
    WINNOW_RETURN_IF_ERROR(ReadDeclarations(schema, each.text, file));
  }
  return read;
}

}  // namespace winnow::pg
