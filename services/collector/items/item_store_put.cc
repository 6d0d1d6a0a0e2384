#include <algorithm>
#include <map>

#include "services/collector/items/item_sql.h"
#include "services/collector/items/item_store.h"
#include "services/platform/base/uuid.h"
#include "services/platform/events/core/outbox.h"
#include "winnow/events/v1/events.pb.h"

namespace winnow::collector {
namespace {

// A batch, each of its different items once.
struct PutBatch {
  std::vector<Item> items;            // as put; the first of each identity has an id
  std::vector<size_t> first;          // of each item: the first that has its identity
  std::vector<Candidate> candidates;  // those first ones, by identity
};

PutBatch MakeBatch(std::vector<Item> items) {
  PutBatch batch;
  batch.items = std::move(items);
  std::vector<std::pair<Hash128Value, size_t>> order;
  order.reserve(batch.items.size());
  for (size_t i = 0; i < batch.items.size(); ++i) order.emplace_back(IdentityOf(batch.items[i]), i);
  std::sort(order.begin(), order.end());
  batch.first.resize(order.size());
  size_t first = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const auto& [identity, position] = order[i];
    if (i == 0 || identity != order[i - 1].first) {
      first = position;
      batch.candidates.push_back({identity, &batch.items[position]});
    }
    batch.first[position] = first;
  }
  // In the order put: ids of one arrival time list that way.
  for (size_t i = 0; i < batch.items.size(); ++i) {
    Item& item = batch.items[i];
    if (batch.first[i] == i) item.id = NewUuidV7(item.create_time);
  }
  return batch;
}

// What the transaction found.
struct Outcome {
  std::vector<bool> created;  // of each item of the batch
  std::map<Hash128Value, Item> known;
};

// The events of what was created, in the order in which it was put.
void AppendEvents(pg::Session& session, const PutBatch& batch, const std::vector<bool>& created,
                  const std::string& traceparent) {
  std::vector<winnow::events::v1::Envelope> envelopes;
  envelopes.reserve(batch.candidates.size());
  for (size_t i = 0; i < batch.items.size(); ++i) {
    if (!created[i]) continue;
    const Item& item = batch.items[i];
    envelopes.push_back(events::NewEnvelope(item.create_time, item.ns, traceparent));
    envelopes.back().mutable_item_collected()->set_item_id(item.id);
  }
  events::Append(session, "collector", envelopes);
}

StatusOr<Outcome> Insert(pg::Session& session, const PutBatch& batch,
                         const std::string& traceparent) {
  Outcome outcome;
  outcome.created.resize(batch.items.size());
  const std::vector<std::string> ids = InsertNew(session, batch.candidates);
  std::vector<Hash128Value> missing;
  auto next = ids.begin();
  for (const auto& [identity, item] : batch.candidates) {
    if (next != ids.end() && *next == item->id) {
      outcome.created[static_cast<size_t>(item - batch.items.data())] = true;
      ++next;
    } else {
      missing.push_back(identity);
    }
  }
  if (next != ids.end()) return Internal("rows were not created in the order given");
  AppendEvents(session, batch, outcome.created, traceparent);
  if (missing.empty()) return outcome;
  // The holders of these identities have committed: this statement's own snapshot sees them.
  for (Item& item : ReadByIdentity(session, missing)) {
    const Hash128Value identity = IdentityOf(item);
    outcome.known.emplace(identity, std::move(item));
  }
  return outcome;
}

StatusOr<PutItem> ReadKnown(const Item& put, Outcome& outcome) {
  const auto known = outcome.known.find(IdentityOf(put));
  if (known == outcome.known.end()) return Internal("the item is neither created nor known");
  return PutItem{std::move(known->second), false};
}

// The hash does not resist deliberate collisions: no wrong result follows from one.
Status CheckSame(const Item& put, const Item& stored) {
  return IsSame(put, stored) ? OkStatus() : Internal("two items have one identity hash");
}

std::vector<StatusOr<PutItem>> Answer(PutBatch batch, Outcome outcome) {
  std::vector<StatusOr<PutItem>> answers;
  answers.reserve(batch.items.size());
  for (size_t i = 0; i < batch.items.size(); ++i) {
    Item& put = batch.items[i];
    if (batch.first[i] != i) {
      answers.push_back(answers[batch.first[i]]);
      if (answers[i].ok()) answers[i]->created = false;
    } else if (outcome.created[i]) {
      answers.push_back(PutItem{std::move(put), true});
      continue;
    } else {
      answers.push_back(ReadKnown(put, outcome));
    }
    const Status same = answers[i].ok() ? CheckSame(put, answers[i]->item) : OkStatus();
    if (!same.ok()) answers[i] = same;
  }
  return answers;
}

}  // namespace

StatusOr<std::vector<StatusOr<PutItem>>> ItemStore::Put(Deadline deadline, std::vector<Item> items,
                                                        const std::string& traceparent) {
  if (items.empty()) return std::vector<StatusOr<PutItem>>{};
  PutBatch batch = MakeBatch(std::move(items));
  WINNOW_ASSIGN_OR_RETURN(Outcome outcome, writes_.Transaction(deadline, [&](pg::Session& session) {
    return Insert(session, batch, traceparent);
  }));
  return Answer(std::move(batch), std::move(outcome));
}

}  // namespace winnow::collector
