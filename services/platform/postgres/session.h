#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <pqxx/pqxx>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/platform/clock.h"
#include "services/platform/status.h"

// A leased PostgreSQL connection as the stores see it. Statements throw pqxx exceptions; the pool
// that leased the session catches them and turns them into Status (pool.h), so stores read straight
// down.
namespace winnow::pg {

// A statement with a name, prepared once per connection on first use.
struct Statement {
  const char* name;  // unique in the process, e.g. "collector.get_item"
  const char* sql;
};

class Session {
 public:
  explicit Session(pqxx::transaction_base& transaction, bool prepared)
      : transaction_(transaction), prepared_(prepared) {}

  // Runs the statement with parameters $1, $2, ... : std::string, integers, double, bool,
  // std::optional of these, Array (below), and Time by ToParameter.
  template <class... Args>
  pqxx::result Execute(const Statement& statement, const Args&... args);

  // For migrations and the few statements that cannot be prepared.
  pqxx::result ExecuteText(const std::string& sql) { return transaction_.exec(sql); }

 private:
  friend class SessionAccess;
  pqxx::transaction_base& transaction_;
  bool prepared_;
};

// An array parameter, written as PostgreSQL's array literal. Cast it in the statement:
// `unnest($1::text[])`.
class Array {
 public:
  void Add(std::string_view text);
  void Add(const char* text) { Add(std::string_view(text)); }
  void Add(const std::string& text) { Add(std::string_view(text)); }
  void Add(int64_t number);
  void Add(int number) { Add(int64_t{number}); }
  void Add(double number);
  void Add(bool flag);
  void Add(Time time);                    // timestamptz
  void AddBytes(std::string_view bytes);  // bytea
  void AddNull();
  template <class T>
  void Add(const std::optional<T>& value) {
    value ? Add(*value) : AddNull();
  }
  std::string ToString() const;  // "{...}"

 private:
  void Separate();
  std::string literal_;
};

// Time as a timestamptz parameter and back from a result; years 1 to 9999, microseconds.
std::string ToParameter(Time time);
std::optional<std::string> ToParameter(const std::optional<Time>& time);
Time ToTime(const pqxx::field& field);
std::optional<Time> ToOptionalTime(const pqxx::field& field);
// bytea.
std::string ToParameterBytes(std::string_view bytes);
std::string ToBytes(const pqxx::field& field);
// text[] of a result.
std::vector<std::string> ToTexts(const pqxx::field& field);

}  // namespace winnow::pg
