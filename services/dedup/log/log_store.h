#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "services/dedup/log/decision.h"
#include "services/dedup/log/window_page.h"
#include "services/dedup/policy/policy.h"
#include "services/platform/postgres/session/session.h"

// The log of a namespace as its writers and followers read and extend it. Statements throw pqxx
// exceptions, which the pool turns into Status.
namespace winnow::dedup {

// Committed entries after `after` in order of seq, at most `limit`, with the vectors that `model`
// made; empty: with none.
std::vector<LogEntry> ReadEntries(pg::Session& session, const std::string& ns, int64_t after,
                                  int limit, const std::string& model);

// Adds the committed entries with seq in (after, last], at most `limit` of them, to a page of a
// window. Leads are read where the policy keeps them: of all documents, or of short titles alone.
void ReadWindowPage(pg::Session& session, const std::string& ns, int64_t after, int64_t last,
                    int limit, const Policy& policy, const std::string& model, WindowPage& page);

// Channel, title, lead and `model`'s vector of entries, by seq.
std::map<int64_t, LogEntry> ReadOriginals(pg::Session& session, const std::string& ns,
                                          const std::set<int64_t>& seqs, const std::string& model);

// Where a window begins: the first seq that arrived at `earliest` or later, found by halving
// between the ends of the log; head + 1 when none did.
int64_t FirstSeqSince(pg::Session& session, const std::string& ns, int64_t head, Time earliest);
// Arrival of the newest entry; none for an empty log.
std::optional<Time> LastArrival(pg::Session& session, const std::string& ns);

// Decisions that are stored, by document id.
std::map<std::string, Decision> ReadDecisions(pg::Session& session, const std::string& ns,
                                              const std::set<std::string>& ids);
std::map<int64_t, EntryName> ReadNames(pg::Session& session, const std::string& ns,
                                       const std::set<int64_t>& seqs);
bool HasEntry(pg::Session& session, const std::string& ns, int64_t seq, const std::string& id);

// A document that was decided just now.
struct Decided {
  LogEntry entry;
  Decision decision;
  std::string url;
  bool is_item = false;              // consumers of items learn of it by an event
  std::string traceparent;           // of the call that brought it
  std::optional<ReviewKind> review;  // people are asked about it
  int channels_reached = 0;  // above 0: its story has just reached the policy's number of channels
};

// Extends the log: entries, decisions with their candidates, and events, by one statement each.
// Their vectors are `model`'s.
void InsertDecided(pg::Session& session, const std::string& ns, std::span<const Decided> decided,
                   const std::string& model);

// Distinct channels of the duplicates of these originals, by original: of the first 1,000 each.
std::map<std::string, std::set<std::string>> ReadCitingChannels(pg::Session& session,
                                                                const std::string& ns,
                                                                const std::set<std::string>& ids);

// Namespaces that were written last, newest first.
std::vector<std::string> ReadNamespaces(pg::Session& session, int limit);

}  // namespace winnow::dedup
