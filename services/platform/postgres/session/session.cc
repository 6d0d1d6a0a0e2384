#include "services/platform/postgres/session/session.h"

#include <pqxx/binarystring>
#include <pqxx/nontransaction>
#include <pqxx/prepared_statement>
#include <stdexcept>

#include "services/platform/postgres/session/connection.h"

namespace winnow::pg {
namespace {

// libpq takes C strings, and pqxx cuts at a NUL without a word.
void RefuseNul(const Statement& statement, const Parameters& parameters) {
  for (size_t i = 0; i < parameters.values().size(); ++i) {
    const std::optional<std::string>& value = parameters.values()[i];
    if (value && value->find('\0') != std::string::npos) {
      throw std::invalid_argument("parameter $" + std::to_string(i + 1) + " of " + statement.name +
                                  " holds a NUL, which PostgreSQL's text cannot");
    }
  }
}

}  // namespace

void Parameters::Add(const BinaryArray& array) {
  if (!values_.empty()) throw std::logic_error("binary parameters come first");
  binary_.push_back(array.ToBytes());
}

pqxx::result Session::Run(const Statement& statement, const Parameters& parameters) {
  last_statement_ = statement.name;
  failed_ = true;  // unless it returns
  RefuseNul(statement, parameters);
  connection_.RequireCurrent();
  connection_.LimitNext(transaction_);
  const std::vector<pqxx::binarystring> bytes(parameters.binary().begin(),
                                              parameters.binary().end());
  const auto binary = pqxx::prepare::make_dynamic_params(bytes);
  const auto values = pqxx::prepare::make_dynamic_params(parameters.values());
  pqxx::result result;
  if (connection_.Prepare(statement)) {
    result = transaction_.exec_prepared(statement.name, binary, values);
  } else {
    result = transaction_.exec_params(statement.sql, binary, values);
  }
  failed_ = false;
  return result;
}

bool Session::pooled() const { return connection_.transaction_pooling(); }

std::string Session::epoch() {
  last_statement_ = "epoch";
  failed_ = true;
  connection_.RequireCurrent();
  std::string epoch = connection_.Epoch(transaction_);
  failed_ = false;
  return epoch;
}

pqxx::result Session::ExecuteText(const std::string& sql) {
  last_statement_ = "text";
  failed_ = true;
  connection_.RequireCurrent();
  connection_.LimitNext(transaction_);
  pqxx::result result = transaction_.exec(sql);
  failed_ = false;
  return result;
}

}  // namespace winnow::pg
