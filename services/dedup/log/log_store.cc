#include "services/dedup/log/log_store.h"

#include "services/dedup/log/decision_sql.h"

namespace winnow::dedup {
namespace {

constexpr pg::Statement kReadEntries = {
    "dedup.read_entries",
    "SELECT e.seq, e.document_id, e.channel, e.title, e.lead, e.canonical_url, e.publish_time,"
    " e.arrival_time, e.root_seq, r.channel, r.title, r.lead,"
    " CASE WHEN e.vector_model = $4 THEN e.vector END,"
    " CASE WHEN r.vector_model = $4 THEN r.vector END FROM dedup.entries e"
    " LEFT JOIN dedup.entries r ON r.namespace = e.namespace AND r.seq = e.root_seq"
    "   AND e.root_seq <> e.seq"
    " WHERE e.namespace = $1 AND e.seq > $2 ORDER BY e.seq LIMIT $3"};

// Without the join above: most originals are in the window already. What is not kept of a lead does
// not travel. The LIMIT keeps the plan a walk along the key, also where nothing was analysed yet.
constexpr pg::Statement kReadWindowPage = {
    "dedup.read_window_page",
    "SELECT seq, root_seq, arrival_time, channel, title, canonical_url,"
    " CASE WHEN $5::boolean OR char_length(replace(title, ' ', '')) < $6::integer"
    "   THEN left(lead, $7::integer) ELSE '' END,"
    " CASE WHEN vector_model = $8 THEN vector END FROM dedup.entries"
    " WHERE namespace = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4"};

constexpr pg::Statement kReadOriginals = {
    "dedup.read_originals",
    "SELECT wanted.seq, found.channel, found.title, found.lead,"
    " CASE WHEN found.vector_model = $3 THEN found.vector END"
    " FROM unnest($2::bigint[]) AS wanted(seq) CROSS JOIN LATERAL"
    "   (SELECT channel, title, lead, vector_model, vector FROM dedup.entries"
    "    WHERE namespace = $1 AND seq = wanted.seq LIMIT 1) AS found"};

constexpr pg::Statement kEntryFrom = {
    "dedup.entry_from",
    "SELECT seq, arrival_time FROM dedup.entries WHERE namespace = $1 AND seq >= $2"
    " ORDER BY seq LIMIT 1"};

constexpr pg::Statement kLastArrival = {
    "dedup.last_arrival",
    "SELECT arrival_time FROM dedup.entries WHERE namespace = $1 ORDER BY seq DESC LIMIT 1"};

// A LIMIT in each look-up keeps it one by key: a plain join, or = ANY, of a table that was never
// analysed is planned as a scan of the whole namespace.
constexpr pg::Statement kReadDecisions = {
    "dedup.read_decisions",
    "SELECT " WINNOW_DEDUP_DECISION_COLUMNS
    " FROM unnest($2::text[]) AS wanted(id) CROSS JOIN LATERAL"
    "   (SELECT " WINNOW_DEDUP_DECISION_COLUMNS
    "    FROM dedup.decisions WHERE namespace = $1 AND document_id = wanted.id LIMIT 1) AS found"};

constexpr pg::Statement kReadNames = {
    "dedup.read_names",
    "SELECT wanted.seq, found.document_id, found.channel"
    " FROM unnest($2::bigint[]) AS wanted(seq) CROSS JOIN LATERAL"
    "   (SELECT document_id, channel FROM dedup.entries WHERE namespace = $1 AND seq = wanted.seq"
    "    LIMIT 1) AS found"};

constexpr pg::Statement kHasEntry = {
    "dedup.has_entry",
    "SELECT 1 FROM dedup.entries WHERE namespace = $1 AND seq = $2 AND document_id = $3"};

// Some stories are repeated without end: what their first thousand say is enough.
constexpr pg::Statement kCitingChannels = {
    "dedup.citing_channels",
    "SELECT wanted.id, found.channel FROM unnest($2::text[]) AS wanted(id) CROSS JOIN LATERAL"
    "   (SELECT DISTINCT channel FROM (SELECT channel FROM dedup.decisions WHERE namespace = $1"
    "      AND original_id = wanted.id ORDER BY seq LIMIT 1000) AS first) AS found"};

constexpr pg::Statement kReadNamespaces = {
    "dedup.read_namespaces",
    "SELECT stream FROM dedup.log_streams ORDER BY last_arrival DESC, stream LIMIT $1"};

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
  for (const auto& row : session.Execute(kReadEntries, ns, after, limit, model)) {
    entries.push_back(EntryOf(row));
  }
  return entries;
}

void ReadWindowPage(pg::Session& session, const std::string& ns, int64_t after, int64_t last,
                    int limit, const Policy& policy, const std::string& model, WindowPage& page) {
  const pqxx::result rows =
      session.Execute(kReadWindowPage, ns, after, last, limit, FindsByLead(policy),
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
  for (const auto& row : session.Execute(kReadOriginals, ns, wanted, model)) {
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
    const pqxx::result rows = session.Execute(kEntryFrom, ns, middle);
    if (rows.empty() || pg::ToTime(rows[0][1]) >= earliest) {
      high = middle;
    } else {
      low = rows[0][0].as<int64_t>() + 1;
    }
  }
  return high;
}

std::optional<Time> LastArrival(pg::Session& session, const std::string& ns) {
  const pqxx::result rows = session.Execute(kLastArrival, ns);
  if (rows.empty()) return std::nullopt;
  return pg::ToTime(rows[0][0]);
}

std::map<std::string, Decision> ReadDecisions(pg::Session& session, const std::string& ns,
                                              const std::set<std::string>& ids) {
  pg::Array wanted;
  for (const std::string& id : ids) wanted.Add(id);
  std::map<std::string, Decision> decisions;
  std::vector<Decision*> incomplete;
  for (const auto& row : session.Execute(kReadDecisions, ns, wanted)) {
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
  for (const auto& row : session.Execute(kReadNames, ns, wanted)) {
    names[row[0].as<int64_t>()] = {row[1].c_str(), row[2].c_str()};
  }
  return names;
}

bool HasEntry(pg::Session& session, const std::string& ns, int64_t seq, const std::string& id) {
  return !session.Execute(kHasEntry, ns, seq, id).empty();
}

std::map<std::string, std::set<std::string>> ReadCitingChannels(pg::Session& session,
                                                                const std::string& ns,
                                                                const std::set<std::string>& ids) {
  pg::Array wanted;
  for (const std::string& id : ids) wanted.Add(id);
  std::map<std::string, std::set<std::string>> channels;
  for (const auto& row : session.Execute(kCitingChannels, ns, wanted)) {
    channels[row[0].c_str()].insert(row[1].c_str());
  }
  return channels;
}

std::vector<std::string> ReadNamespaces(pg::Session& session, int limit) {
  std::vector<std::string> namespaces;
  for (const auto& row : session.Execute(kReadNamespaces, limit)) {
    namespaces.emplace_back(row[0].c_str());
  }
  return namespaces;
}

}  // namespace winnow::dedup
