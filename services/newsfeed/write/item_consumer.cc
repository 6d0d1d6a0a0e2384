#include "services/newsfeed/write/item_consumer.h"

#include <chrono>
#include <set>
#include <utility>

#include "services/newsfeed/articles/citation.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::newsfeed {
namespace {

constexpr std::chrono::seconds kDeliveryTime(30);
// Of reading a delivery's items: a collector that hangs delays them by this much, then another
// process of it is asked.
constexpr std::chrono::seconds kReadTime(5);
constexpr std::chrono::milliseconds kRetryAfter(100);

using events::Envelope;

// The same answer for each.
std::vector<Status> All(size_t count, const Status& status) {
  return std::vector<Status>(count, status);
}

// Articles of a delivery; which envelope each is of stands in `of`.
struct DeliveredArticles {
  std::vector<Article> articles;
  std::vector<size_t> of;
};

// Articles that may be stored; `answers` holds the reasons for the others.
DeliveredArticles ToArticles(std::vector<StatusOr<CollectedItem>> items, const CategoryRules& rules,
                             const std::set<ArticleKey>& existing, std::vector<Status>& answers) {
  DeliveredArticles batch;
  for (size_t i = 0; i < items.size(); ++i) {
    answers[i] = items[i].status();
    if (!items[i].ok()) continue;
    Article article = ToArticle(*std::move(items[i]), rules, existing);
    Violations violations;
    Validate(article, UrlRule::kOptional, "item.", violations);
    answers[i] = violations.ToStatus();
    if (!violations.empty()) continue;
    batch.articles.push_back(std::move(article));
    batch.of.push_back(i);
  }
  return batch;
}

// INVALID_ARGUMENT for an event that no Winnow service writes.
StatusOr<Citation> ToCitation(const Envelope& envelope) {
  const winnow::events::v1::DuplicateFound& found = envelope.duplicate_found();
  Citation citation{.ns = envelope.namespace_(),
                    .original = found.original_item_id(),
                    .duplicate = found.item_id(),
                    .channel = found.channel(),
                    .url = found.url(),
                    .arrival_time = {}};
  const auto arrival = FromTimestamp(found.arrival_time());
  if (!arrival.ok()) return InvalidField("duplicate_found.arrival_time", "is not a valid time");
  citation.arrival_time = *arrival;
  WINNOW_RETURN_IF_ERROR(Check(citation));
  return citation;
}

}  // namespace

std::vector<events::Consumer> ItemConsumer::Consumers() {
  std::vector<events::Consumer> consumers(2);
  consumers[0].service = "newsfeed";
  consumers[0].event = "winnow.events.v1.ItemAccepted";
  consumers[0].deliver = [this](std::span<const Envelope> envelopes) { return Accept(envelopes); };
  consumers[1].service = "newsfeed";
  consumers[1].event = "winnow.events.v1.DuplicateFound";
  consumers[1].deliver = [this](std::span<const Envelope> envelopes) { return Cite(envelopes); };
  return consumers;
}

void ItemConsumer::Start(std::shared_ptr<const Items> items) {
  std::lock_guard lock(mutex_);
  items_ = std::move(items);
}

void ItemConsumer::Stop() { Start(nullptr); }

StatusOr<std::vector<StatusOr<CollectedItem>>> ItemConsumer::Read(
    const rpc::CallContext& call, std::span<const Envelope> envelopes) {
  std::shared_ptr<const Items> items;
  {
    std::lock_guard lock(mutex_);
    items = items_;
  }
  if (!items) {
    return Unavailable(Reason::kPeerUnavailable, "the newsfeed is not started yet", kRetryAfter);
  }
  std::vector<std::string> ids;
  ids.reserve(envelopes.size());
  for (const Envelope& envelope : envelopes) ids.push_back(envelope.item_accepted().item_id());
  return items->Read(call, ids);
}

std::vector<Status> ItemConsumer::Accept(std::span<const Envelope> envelopes) {
  auto items = Read(rpc::BackgroundCall(kReadTime, envelopes[0].traceparent()), envelopes);
  if (!items.ok()) return All(envelopes.size(), items.status());
  std::set<ArticleKey> named;
  for (const StatusOr<CollectedItem>& item : *items) {
    if (item.ok()) named.merge(NamedCategories(*item, rules_));
  }
  const Deadline deadline = std::chrono::steady_clock::now() + kDeliveryTime;
  const auto existing = categories_.Existing(deadline, named);
  if (!existing.ok()) return All(envelopes.size(), existing.status());
  std::vector<Status> answers(envelopes.size());
  const DeliveredArticles batch = ToArticles(*std::move(items), rules_, *existing, answers);
  const std::vector<std::string> prefixes(batch.articles.size(), "item.");
  const auto results = store_.Upsert(deadline, ToSent(batch.articles, prefixes));
  if (!results.ok()) return All(envelopes.size(), results.status());
  for (size_t i = 0; i < results->size(); ++i) {
    metrics_.Count((*results)[i]);
    answers[batch.of[i]] = (*results)[i].status();
  }
  return answers;
}

std::vector<Status> ItemConsumer::Cite(std::span<const Envelope> envelopes) {
  std::vector<Status> answers(envelopes.size());
  std::vector<Citation> citations;
  std::vector<size_t> of;
  for (size_t i = 0; i < envelopes.size(); ++i) {
    StatusOr<Citation> citation = ToCitation(envelopes[i]);
    answers[i] = citation.status();
    if (!citation.ok()) continue;
    citations.push_back(*std::move(citation));
    of.push_back(i);
  }
  if (citations.empty()) return answers;
  const Status cited = store_.Cite(std::chrono::steady_clock::now() + kDeliveryTime, citations);
  for (const size_t i : of) answers[i] = cited;
  return answers;
}

}  // namespace winnow::newsfeed
