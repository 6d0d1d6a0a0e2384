#include <map>
#include <unordered_set>

#include "services/collector/store.h"
#include "services/collector/store_rows.h"
#include "services/platform/events/outbox.h"
#include "services/platform/uuid.h"
#include "winnow/events/v1/events.pb.h"

namespace winnow::collector {
namespace {

using Identities = std::map<Hash128Value, size_t>;  // to the first item that has it

// A batch, and each of its different items once.
struct Batch {
  std::vector<Item> items;           // as put; the first of each identity has an id
  std::vector<Hash128Value> hashes;  // of each item
  Identities first;
  std::vector<const Item*> unique;      // by identity
  std::vector<std::string> identities;  // of `unique`, as UUID text
};

std::string ToUuidText(const Hash128Value& hash) {
  std::string bytes;
  for (const uint64_t half : {hash.high, hash.low}) {
    for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(half >> shift);
  }
  return Hex(bytes);
}

Batch MakeBatch(std::vector<Item> items) {
  Batch batch;
  batch.items = std::move(items);
  batch.hashes.reserve(batch.items.size());
  for (size_t i = 0; i < batch.items.size(); ++i) {
    Item& item = batch.items[i];
    batch.hashes.push_back(IdentityOf(item));
    const bool is_first = batch.first.emplace(batch.hashes.back(), i).second;
    if (is_first) item.id = NewUuidV7(item.create_time);
  }
  for (const auto& [hash, i] : batch.first) {
    batch.unique.push_back(&batch.items[i]);
    batch.identities.push_back(ToUuidText(hash));
  }
  return batch;
}

// What the transaction found: the ids that are new, and what is stored of the rest.
struct Outcome {
  std::unordered_set<std::string> created;
  std::map<Hash128Value, Item> known;
};

// The events of what was created, in the order in which it was put.
void AppendEvents(pg::Session& session, const Batch& batch,
                  const std::unordered_set<std::string>& created, const std::string& traceparent) {
  std::vector<winnow::events::v1::Envelope> envelopes;
  envelopes.reserve(created.size());
  for (const Item& item : batch.items) {
    if (item.id.empty() || !created.contains(item.id)) continue;
    envelopes.push_back(events::NewEnvelope(item.create_time, item.ns, traceparent));
    envelopes.back().mutable_item_collected()->set_item_id(item.id);
  }
  events::Append(session, "collector", envelopes);
}

Outcome Insert(pg::Session& session, const Batch& batch, const std::string& traceparent) {
  Outcome outcome;
  outcome.created = InsertNew(session, batch.unique, batch.identities);
  AppendEvents(session, batch, outcome.created, traceparent);
  std::vector<std::string> missing;
  for (size_t i = 0; i < batch.unique.size(); ++i) {
    if (!outcome.created.contains(batch.unique[i]->id)) missing.push_back(batch.identities[i]);
  }
  if (missing.empty()) return outcome;
  // Whoever held these identities has committed: this statement's own snapshot sees them.
  for (Item& item : ReadByIdentity(session, missing)) {
    const Hash128Value hash = IdentityOf(item);
    outcome.known.emplace(hash, std::move(item));
  }
  return outcome;
}

StatusOr<PutItem> Answer(const Batch& batch, const Outcome& outcome, size_t i) {
  const Item& put = batch.items[i];
  const size_t first = batch.first.at(batch.hashes[i]);
  const bool created = outcome.created.contains(batch.items[first].id);
  const auto known = outcome.known.find(batch.hashes[i]);
  if (!created && known == outcome.known.end()) {
    return Internal("the item is neither created nor known");
  }
  const Item& stored = created ? batch.items[first] : known->second;
  // The hash is no defence against someone who makes two meet: nothing false is answered then.
  if (!IsSame(put, stored)) return Internal("two different items have one identity hash");
  return PutItem{stored, created && first == i};
}

}  // namespace

StatusOr<std::vector<StatusOr<PutItem>>> Store::Put(Deadline deadline, std::vector<Item> items,
                                                    const std::string& traceparent) {
  if (items.empty()) return std::vector<StatusOr<PutItem>>{};
  const Batch batch = MakeBatch(std::move(items));
  WINNOW_ASSIGN_OR_RETURN(const Outcome outcome,
                          writes_.Write(deadline, [&](pg::Session& session) -> StatusOr<Outcome> {
                            return Insert(session, batch, traceparent);
                          }));
  std::vector<StatusOr<PutItem>> answers;
  answers.reserve(batch.items.size());
  for (size_t i = 0; i < batch.items.size(); ++i) answers.push_back(Answer(batch, outcome, i));
  return answers;
}

}  // namespace winnow::collector
