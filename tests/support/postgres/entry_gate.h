#pragma once

#include <cstdint>
#include <memory>
#include <pqxx/connection>
#include <pqxx/transaction>
#include <string>

namespace winnow::test {

// The table dedup.entries becomes a view of its rows for which `condition` (SQL) holds.
inline void LetEntriesPass(pqxx::transaction_base& work, const std::string& condition) {
  work.exec(
      "CREATE OR REPLACE VIEW dedup.entries AS SELECT namespace, seq, document_id, channel, title,"
      " lead, canonical_url, publish_time, arrival_time, root_seq, vector_model, vector"
      " FROM dedup.stored_entries WHERE " +
      condition);
}
inline void HideEntries(pqxx::transaction_base& work) {
  work.exec("ALTER TABLE dedup.entries RENAME TO stored_entries");
}

// Stops the readers of the log of a dedup namespace at one entry: dedup.entries becomes a view, and
// who comes to the entry of `seq` waits in PostgreSQL until Open. Others can be looked up.
class EntryGate {
 public:
  EntryGate(const std::string& url, const std::string& ns, int64_t seq) : connection_(url) {
    pqxx::work setup(connection_);
    HideEntries(setup);
    setup.exec(
        "CREATE FUNCTION dedup.pass_gate() RETURNS boolean LANGUAGE plpgsql VOLATILE AS"
        " $$ BEGIN PERFORM pg_advisory_lock_shared(1);"
        " RETURN pg_advisory_unlock_shared(1); END $$");
    LetEntriesPass(setup, "CASE WHEN namespace = " + setup.quote(ns) + " AND seq = " +
                              std::to_string(seq) + " THEN dedup.pass_gate() ELSE true END");
    setup.commit();
    pqxx::work lock(connection_);
    lock.exec("SELECT pg_advisory_lock(1)");  // of the session
    lock.commit();
  }

  void Open() {
    pqxx::work open(connection_);
    open.exec("SELECT pg_advisory_unlock(1)");
    open.commit();
  }

 private:
  pqxx::connection connection_;
};

}  // namespace winnow::test
