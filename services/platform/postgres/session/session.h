#pragma once

#include <concepts>
#include <optional>
#include <pqxx/result>
#include <pqxx/row>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/session/binary_array.h"

// A leased PostgreSQL connection as the stores see it. Statements throw pqxx exceptions; the pool
// that leased the session catches them and turns them into Status (pool.h), so stores read straight
// down.
namespace pqxx {
class transaction_base;
}  // namespace pqxx

namespace winnow::pg {

class Connection;

// A statement with a name, prepared once per connection on first use.
struct Statement {
  const char* name;  // unique in the process, e.g. "collector.get_item"
  const char* sql;
};

// An array parameter, written as PostgreSQL's array literal. Cast it in the statement:
// `unnest($1::text[])`.
class Array {
 public:
  void Add(std::string_view text);
  void Add(const char* text) { Add(std::string_view(text)); }
  void Add(const std::string& text) { Add(std::string_view(text)); }
  void Add(bool flag) { AddPlain(flag ? "t" : "f"); }
  template <std::integral T>
  void Add(T number) {
    AddPlain(std::to_string(number));
  }
  void Add(double number);
  void Add(Time time);                    // timestamptz
  void AddBytes(std::string_view bytes);  // bytea
  void AddNull() { AddPlain("NULL"); }
  template <class T>
  void Add(const std::optional<T>& value) {
    value ? Add(*value) : AddNull();
  }
  std::string ToString() const { return "{" + literal_ + "}"; }

 private:
  void AddPlain(std::string_view literal);
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
// text[] of a result; a NULL element is an error.
std::vector<std::string> ToTexts(const pqxx::field& field);

// The parameters $1, $2, ... of one execution: binary arrays, then the others in text form.
class Parameters {
 public:
  void Add(std::string text) { values_.emplace_back(std::move(text)); }
  void Add(std::string_view text) { values_.emplace_back(std::string(text)); }
  void Add(const char* text) { values_.emplace_back(std::string(text)); }
  void Add(bool flag) { values_.emplace_back(flag ? "t" : "f"); }
  template <std::integral T>
  void Add(T number) {
    values_.emplace_back(std::to_string(number));
  }
  void Add(double number);
  void Add(std::nullptr_t) { values_.emplace_back(std::nullopt); }
  void Add(std::nullopt_t) { values_.emplace_back(std::nullopt); }
  void Add(Time time) { Add(ToParameter(time)); }
  void Add(const Array& array) { values_.emplace_back(array.ToString()); }
  void Add(const BinaryArray& array);  // before all others
  template <class T>
  void Add(const std::optional<T>& value) {
    value ? Add(*value) : Add(std::nullopt);
  }

  const std::vector<std::string>& binary() const { return binary_; }  // come first
  const std::vector<std::optional<std::string>>& values() const { return values_; }

 private:
  std::vector<std::string> binary_;
  std::vector<std::optional<std::string>> values_;
};

class Session {
 public:
  Session(Connection& connection, pqxx::transaction_base& transaction)
      : connection_(connection), transaction_(transaction) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Runs the statement with parameters $1, $2, ... : BinaryArrays first; texts, integers, double,
  // bool, Time, Array, and std::optional of these.
  template <class... Args>
  pqxx::result Execute(const Statement& statement, const Args&... args) {
    Parameters parameters;
    (parameters.Add(args), ...);
    return Run(statement, parameters);
  }

  // The same with parameters counted at run time.
  pqxx::result Run(const Statement& statement, const Parameters& parameters);

  // For migrations and the few statements that cannot be prepared.
  pqxx::result ExecuteText(const std::string& sql);

  // Whether the server's connection is another one after each transaction (a pooler): locks and
  // settings of the session would be left to strangers.
  bool pooled() const;

  // System identifier and timeline: of another epoch, no position of a log holds. The same as
  // ReadHead's (log_transaction.h).
  std::string epoch();

  // For the session's lessee: a statement failed (its exception may have been swallowed), and
  // the name of the last one.
  bool failed() const { return failed_; }
  const char* last_statement() const { return last_statement_; }

 private:
  Connection& connection_;
  pqxx::transaction_base& transaction_;
  bool failed_ = false;
  const char* last_statement_ = "none";
};

}  // namespace winnow::pg
