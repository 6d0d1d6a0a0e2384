#include "tests/support/dedup/dedup.h"

#include <chrono>
#include <stdexcept>

#include "services/collector/service.h"
#include "services/dedup/decide/item_consumer.h"
#include "services/dedup/policy/policy_store.h"
#include "services/dedup/service.h"
#include "services/dedup/text/embedded_text_rules.h"
#include "services/platform/base/hash.h"
#include "services/platform/postgres/schema/migrate.h"
#include "tests/support/postgres/postgres.h"

namespace winnow::test {
namespace {

constexpr int kEverything = 1'000'000;

Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }

void OrThrow(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

pg::PoolOptions PoolOf(const std::string& name, const std::string& url) {
  return {.name = name, .url = url, .password = "", .connections = 4};
}

}  // namespace

std::string NewDedupDatabase() {
  return Postgres::Instance().NewDatabase("dedup", [](const std::string& url) {
    Metrics metrics;
    pg::Pool pool({.name = "migrate", .url = url, .password = "", .connections = 1}, metrics);
    OrThrow(pg::Migrate(pool, collector::CollectorMigrations(), Soon()));
    OrThrow(pg::Migrate(pool, dedup::DedupMigrations(), Soon()));
  });
}

const dedup::TextRules& BuiltInTextRules() {
  static const dedup::TextRules rules = dedup::LoadTextRules().value();
  return rules;
}

dedup::Document NewDocument(const std::string& id, const std::string& channel,
                            const std::string& title) {
  dedup::Document document;
  document.ns = "default";
  document.id = id;
  document.channel = channel;
  document.title = title;
  return document;
}

std::string StoryTitle(int number) {
  const Hash128Value hash = Hash128(std::to_string(number));
  std::string words;
  for (const uint64_t half : {hash.high, hash.low}) {
    for (int shift = 0; shift < 64; shift += 32) {
      words += " " + std::to_string(half >> shift & 0xffffffff);
    }
  }
  return "소식" + words;
}

DedupInstance::DedupInstance(const std::string& url, const dedup::Policy& policy,
                             int64_t max_documents, dedup::EmbedderWorker* embedder,
                             const dedup::JudgeLimits& limits)
    : reads_(PoolOf("read", url), metrics_),
      logs_(PoolOf("log", url), metrics_),
      worker_metrics_(metrics_),
      parts_{BuiltInTextRules(),
             clock_,
             reads_,
             logs_,
             policy,
             [] {},
             worker_metrics_,
             memory_,
             loads_,
             embedder,
             16,
             std::chrono::seconds(1),
             limits},
      worker_(parts_, metrics_) {
  memory_.max_documents = max_documents;
  worker_.Start();
}

DedupInstance::~DedupInstance() { worker_.Stop(); }

dedup::DecisionJob DedupInstance::JobOf(const dedup::Document& document) const {
  dedup::Document accepted = document;
  Violations violations;
  Accept(accepted, dedup::IdRule::kOptional, "document", violations);
  OrThrow(violations.ToStatus());
  return dedup::JobOf(std::move(accepted), BuiltInTextRules(), Soon());
}

std::vector<StatusOr<dedup::Decision>> DedupInstance::Submit(std::vector<dedup::Document> documents,
                                                             bool is_urgent, bool is_item) {
  dedup::DecisionWaiter decisions(worker_);
  for (const dedup::Document& document : documents) {
    dedup::DecisionJob job = JobOf(document);
    job.is_urgent = is_urgent;
    job.is_item = is_item;
    decisions.Add(std::move(job));
  }
  std::vector<StatusOr<dedup::Decision>> taken;
  for (size_t i = 0; i < documents.size(); ++i) taken.push_back(decisions.Take(i));
  return taken;
}

StatusOr<dedup::Decision> DedupInstance::SubmitOne(const dedup::Document& document) {
  return Submit({document}, true).front();
}

StatusOr<dedup::Decision> DedupInstance::Check(const dedup::Document& document) {
  dedup::DecisionJob job = JobOf(document);
  job.is_remembered = false;
  job.is_urgent = true;
  dedup::DecisionWaiter decisions(worker_);
  decisions.Add(std::move(job));
  return decisions.Take(0);
}

std::vector<std::string> DifferencesFromReplay(pg::Pool& pool, const std::string& ns,
                                               const dedup::EmbedderCalibration* meaning) {
  std::vector<dedup::LogEntry> entries;
  std::map<std::string, dedup::Decision> decisions;
  std::map<int64_t, dedup::Policy> policies;
  OrThrow(pool.Statements(Soon(), [&](pg::Session& session) {
    entries = dedup::ReadEntries(session, ns, 0, kEverything,
                                 meaning == nullptr ? std::string() : meaning->model);
    std::set<std::string> ids;
    for (const dedup::LogEntry& entry : entries) ids.insert(entry.document_id);
    decisions = dedup::ReadDecisions(session, ns, ids);
    for (int64_t version = 1;; ++version) {
      const auto policy = dedup::ReadPolicyVersion(session, ns, version);
      if (!policy) break;
      policies[version] = policy->rules;
    }
    return OkStatus();
  }));
  std::vector<std::string> differences;
  std::optional<dedup::NamespaceWindow> window;
  int64_t last_version = 0;
  std::map<int64_t, std::string> ids;
  for (size_t i = 0; i < entries.size(); ++i) {
    const dedup::LogEntry& entry = entries[i];
    const auto stored = decisions.find(entry.document_id);
    if (stored == decisions.end()) {
      differences.push_back(entry.document_id + " has no decision");
      continue;
    }
    const int64_t version = stored->second.policy_version;
    if (version < last_version) differences.push_back(entry.document_id + " by an older policy");
    last_version = version;
    const dedup::Policy& policy = policies.at(version);
    if (!window || !window->Apply(policy)) {
      window.emplace(BuiltInTextRules(), policy, 0, 1'000, meaning);
      for (size_t k = 0; k < i; ++k) window->Keep(entries[k]);
    }
    auto print = BuiltInTextRules().OfNormalized(entry.title, entry.lead, entry.canonical_url);
    print.vector = entry.vector;
    const dedup::Judgement judged = window->Judge(print, entry.channel, entry.arrival_time);
    window->Append(entry.seq, print, entry.channel, entry.arrival_time, judged);
    window->CommitPending();
    ids[entry.seq] = entry.document_id;
    const std::string original =
        judged.is_duplicate() ? ids.at(judged.candidates.front().root_seq) : "";
    if (stored->second.original_id != original || stored->second.stage != judged.stage) {
      differences.push_back(entry.document_id + " at " + std::to_string(entry.seq));
    }
  }
  if (decisions.size() != entries.size()) differences.push_back("entries without a decision");
  return differences;
}

}  // namespace winnow::test
