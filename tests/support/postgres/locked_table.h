#pragma once

#include <memory>
#include <pqxx/connection>
#include <pqxx/transaction>
#include <string>

namespace winnow::test {

// Holds a table in a connection of its own, so that others that ask for it wait: from now until
// Release.
class LockedTable {
 public:
  LockedTable(const std::string& url, const std::string& table)
      : connection_(url), transaction_(std::make_unique<pqxx::work>(connection_)) {
    transaction_->exec("LOCK TABLE " + table + " IN ACCESS EXCLUSIVE MODE");
  }
  void Release() { transaction_.reset(); }

 private:
  pqxx::connection connection_;
  std::unique_ptr<pqxx::work> transaction_;
};

}  // namespace winnow::test
