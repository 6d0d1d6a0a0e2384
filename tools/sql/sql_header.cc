// Makes a C++ header of a file of SQL statements, at build time.
//
// Usage: sql_header SOURCE_DIR FILE.sql OUTPUT
//
// A file of statements:
//   -- Any comment.
//   -- include: services/polling/jobs/job_fragments.sql
//   -- fragment: leased = 2
//   -- fragment: by_key(key)
//   WHERE j.{key} = $1
//   -- name: polling.get_job
//   SELECT j.id FROM polling.jobs j {by_key|id} AND j.phase = {leased}
// gives winnow::polling::sql::kGetJob. A fragment ends where the next one or a name begins, and may
// use those before it. Exit code 1: standard error names the file and the reason.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Fragment {
  std::vector<std::string> parameters;
  std::string text;
};

struct Statement {
  std::string name;
  std::string text;
};

struct File {
  std::map<std::string, Fragment> fragments;
  std::vector<Statement> statements;
};

std::string Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \n");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \n") - begin + 1));
}

// At each separator that is not within braces.
std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (text[i] != separator || depth > 0) continue;
    parts.push_back(Trim(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  parts.push_back(Trim(text.substr(begin)));
  return parts;
}

// The brace that closes the one at `open`; npos without one.
size_t ClosingBrace(const std::string& text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (depth == 0) return i;
  }
  return std::string::npos;
}

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// "$1{filter}" would be read as "$1AND".
void Append(const std::string& text, const std::string& name, std::string& out) {
  if (!text.empty() && !out.empty() && IsWord(text.front()) && IsWord(out.back())) {
    throw std::runtime_error("{" + name + "} needs a space before it");
  }
  out += text;
}

// Puts arguments and fragments in the place of what is in braces. An unknown word stays as it is:
// '{}' is an array of PostgreSQL.
std::string Expand(const std::string& text, const File& file,
                   const std::map<std::string, std::string>& arguments) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t open = text.find('{', at);
    const size_t close = open == std::string::npos ? open : ClosingBrace(text, open);
    out += text.substr(at, open - at);
    if (close == std::string::npos)
      return open == std::string::npos ? out : out + text.substr(open);
    const std::vector<std::string> call =
        Split(std::string_view(text).substr(open + 1, close - open - 1), '|');
    const std::string& name = call.front();
    const auto argument = arguments.find(name);
    const auto fragment = file.fragments.find(name);
    if (argument != arguments.end()) {
      Append(argument->second, name, out);
    } else if (fragment != file.fragments.end()) {
      if (call.size() != fragment->second.parameters.size() + 1) {
        throw std::runtime_error("{" + name + "} has another number of arguments");
      }
      std::map<std::string, std::string> given;
      for (size_t i = 1; i < call.size(); ++i) {
        given[fragment->second.parameters[i - 1]] = Expand(call[i], file, arguments);
      }
      Append(Expand(fragment->second.text, file, given), name, out);
    } else if (!name.empty()) {
      throw std::runtime_error("{" + name + "} is not a fragment above it");
    } else {
      out += text.substr(open, close - open + 1);
    }
    at = close + 1;
  }
  return out;
}

// "leased = 2", "columns" or "by_key(key)".
std::pair<std::string, Fragment> ReadFragment(const std::string& heading) {
  Fragment fragment;
  const size_t equals = heading.find(" = ");
  if (equals != std::string::npos) {
    fragment.text = heading.substr(equals + 3);
    return {heading.substr(0, equals), fragment};
  }
  const size_t open = heading.find('(');
  if (open == std::string::npos) return {heading, fragment};
  const size_t close = heading.find(')', open);
  fragment.parameters = Split(std::string_view(heading).substr(open + 1, close - open - 1), ',');
  return {heading.substr(0, open), fragment};
}

void Read(const std::filesystem::path& root, const std::string& path, File& file) {
  std::ifstream in(root / path);
  if (!in) throw std::runtime_error(path + " cannot be read");
  std::string* text = nullptr;  // of the fragment or statement that is read
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const auto value = [&](std::string_view key) {
      return line.starts_with(key) ? Trim(line.substr(key.size())) : std::string();
    };
    if (const std::string included = value("-- include: "); !included.empty()) {
      Read(root, included, file);
    } else if (const std::string heading = value("-- fragment: "); !heading.empty()) {
      auto [name, fragment] = ReadFragment(heading);
      text = &(file.fragments[name] = fragment).text;
    } else if (const std::string name = value("-- name: "); !name.empty()) {
      text = &file.statements.emplace_back(Statement{name, ""}).text;
    } else if (!line.starts_with("--") && !Trim(line).empty()) {
      if (text == nullptr) {
        throw std::runtime_error("line " + std::to_string(number) + " is of no statement");
      }
      *text += line + "\n";
    }
  }
}

// kGetJob of polling.get_job
std::string ConstantOf(const std::string& name) {
  std::string constant = "k";
  bool is_first = true;
  for (const char c : name.substr(name.find('.') + 1)) {
    if (c != '_') constant += is_first ? static_cast<char>(std::toupper(c)) : c;
    is_first = c == '_';
  }
  return constant;
}

void Write(const std::string& path, const File& file, std::ostream& out) {
  const std::string service = Split(path, '/').at(1);
  out << "// Made of " << path << " by tools/sql/sql_header.cc.\n#pragma once\n\n"
      << "#include \"services/platform/postgres/session/session.h\"\n\n"
      << "namespace winnow::" << service << "::sql {\n\n";
  for (const Statement& statement : file.statements) {
    out << "inline constexpr pg::Statement " << ConstantOf(statement.name) << "{\n    \""
        << statement.name << "\",\n    R\"sql(" << Trim(Expand(statement.text, file, {}))
        << ")sql\"};\n";
  }
  out << "\n}  // namespace winnow::" << service << "::sql\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: sql_header SOURCE_DIR FILE.sql OUTPUT\n";
    return 2;
  }
  try {
    File file;
    Read(argv[1], argv[2], file);
    std::ostringstream header;
    Write(argv[2], file, header);
    std::filesystem::create_directories(std::filesystem::path(argv[3]).parent_path());
    std::ofstream out(argv[3]);
    out << header.str();
    return out.flush() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << argv[2] << ": " << error.what() << '\n';
    return 1;
  }
}
