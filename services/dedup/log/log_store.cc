#include "services/dedup/log/log_store.h"

#include "services/dedup/log/decision_sql.h"
#include "services/dedup/log/log_store.sql.h"

namespace winnow::dedup {
namespace {

// One byte a dimension, signed.
index::Vector VectorOf(const pqxx::field& field) {
  if (field.is_null()) return {};
  const std::string bytes = pg::ToBytes(field);
  return {bytes.begin(), bytes.end()};
}

LogEntry EntryOf(const pqxx::row& row) {
  LogEntry entry;
  entry.seq = row[0].as<int64_t>();
  entry.document_id = row[1].c_str();
  entry.channel = row[2].c_str();
  entry.title = row[3].c_str();
  entry.lead = row[4].c_str();
  entry.canonical_url = row[5].c_str();
  entry.publish_time = pg::ToOptionalTime(row[6]);
  entry.arrival_time = pg::ToTime(row[7]);
  entry.root_seq = row[8].as<int64_t>();
  if (!row[9].is_null()) entry.root_channel = row[9].c_str();
  if (!row[10].is_null()) entry.root_title = row[10].c_str();
  if (!row[11].is_null()) entry.root_lead = row[11].c_str();
  entry.vector = VectorOf(row[12]);
  entry.root_vector = VectorOf(row[13]);
  return entry;
}

}  // namespace

std::vector<LogEntry> ReadEntries(pg::Session& session, const std::string& ns, int64_t after,
                                  int limit, const std::string& model) {
  std::vector<LogEntry> entries;
  for (const auto& row : session.Execute(sql::kReadEntries, ns, after, limit, model)) {
    entries.push_back(EntryOf(row));
  }
  return entries;
}

void ReadWindowPage(pg::Session& session, const std::string& ns, int64_t after, int64_t last,
                    int limit, const Policy& policy, const std::string& model, WindowPage& page) {
  const pqxx::result rows =
      session.Execute(sql::kReadWindowPage, ns, after, last, limit, FindsByLead(policy),
                      static_cast<int>(kLeadKeptBelow), static_cast<int>(kLeadCompared), model);
  page.Reserve(rows.size());
  const auto text = [](const pqxx::field& field) {
    return std::string_view(field.c_str(), field.size());
  };
  for (const auto& row : rows) {
    page.Add({row[0].as<int64_t>(), row[1].as<int64_t>(), pg::ToTime(row[2]), text(row[3]),
              text(row[4]), text(row[6]), text(row[5]), VectorOf(row[7])});
  }
}

std::map<int64_t, LogEntry> ReadOriginals(pg::Session& session, const std::string& ns,
                                          const std::set<int64_t>& seqs, const std::string& model) {
  std::map<int64_t, LogEntry> originals;
  if (seqs.empty()) return originals;
  pg::Array wanted;
  for (const int64_t seq : seqs) wanted.Add(seq);
  for (const auto& row : session.Execute(sql::kReadOriginals, ns, wanted, model)) {
    LogEntry& original = originals[row[0].as<int64_t>()];
    original.channel = row[1].c_str();
    original.title = row[2].c_str();
    original.lead = row[3].c_str();
    original.vector = VectorOf(row[4]);
  }
  return originals;
}

int64_t FirstSeqSince(pg::Session& session, const std::string& ns, int64_t head, Time earliest) {
  // Arrival never falls along seq. Everything before `low` is too early, everything from `high` on
  // is not.
  int64_t low = 1;
  int64_t high = head + 1;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const pqxx::result rows = session.Execute(sql::kEntryFrom, ns, middle);
    if (rows.empty() || pg::ToTime(rows[0][1]) >= earliest) {
      high = middle;
    } else {
      low = rows[0][0].as<int64_t>() + 1;
    }
  }
  return high;
}

std::optional<Time> LastArrival(pg::Session& session, const std::string& ns) {
  const pqxx::result rows = session.Execute(sql::kLastArrival, ns);
  if (rows.empty()) return std::nullopt;
  return pg::ToTime(rows[0][0]);
}

std::map<std::string, Decision> ReadDecisions(pg::Session& session, const std::string& ns,
                                              const std::set<std::string>& ids) {
  pg::Array wanted;
  for (const std::string& id : ids) wanted.Add(id);
  std::map<std::string, Decision> decisions;
  std::vector<Decision*> incomplete;
  for (const auto& row : session.Execute(sql::kReadDecisions, ns, wanted)) {
    Decision decision = DecisionOf(ns, row);
    const std::string id = decision.document_id;
    incomplete.push_back(&decisions.emplace(id, std::move(decision)).first->second);
  }
  AddCandidates(session, ns, incomplete);
  return decisions;
}

std::map<int64_t, EntryName> ReadNames(pg::Session& session, const std::string& ns,
                                       const std::set<int64_t>& seqs) {
  std::map<int64_t, EntryName> names;
  if (seqs.empty()) return names;
  pg::Array wanted;
  for (const int64_t seq : seqs) wanted.Add(seq);
  for (const auto& row : session.Execute(sql::kReadNames, ns, wanted)) {
    names[row[0].as<int64_t>()] = {row[1].c_str(), row[2].c_str()};
  }
  return names;
}

bool HasEntry(pg::Session& session, const std::string& ns, int64_t seq, const std::string& id) {
  return !session.Execute(sql::kHasEntry, ns, seq, id).empty();
}

std::map<std::string, std::set<std::string>> ReadCitingChannels(pg::Session& session,
                                                                const std::string& ns,
                                                                const std::set<std::string>& ids) {
  pg::Array wanted;
  for (const std::string& id : ids) wanted.Add(id);
  std::map<std::string, std::set<std::string>> channels;
  for (const auto& row : session.Execute(sql::kCitingChannels, ns, wanted)) {
    channels[row[0].c_str()].insert(row[1].c_str());
  }
  return channels;
}

std::vector<std::string> ReadNamespaces(pg::Session& session, int limit) {
  std::vector<std::string> namespaces;
  for (const auto& row : session.Execute(sql::kReadNamespaces, limit)) {
    namespaces.emplace_back(row[0].c_str());
  }
  return namespaces;
}

}  // namespace winnow::dedup
