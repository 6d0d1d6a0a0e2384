#include "services/classification/llm/llm_classifier.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "services/classification/llm/chat_request.h"
#include "services/classification/llm/suspects.h"
#include "services/platform/base/text.h"

namespace winnow::classification {
namespace {

constexpr size_t kCallsOfATask = 64;  // enough to pool what failed
constexpr size_t kMaxOfATask = 4096;

// Equal texts are asked once: the first stands for the others.
struct Groups {
  std::vector<size_t> firsts;
  std::unordered_map<size_t, std::vector<size_t>> others;  // by the first one's index
};

Groups GroupByText(const Task& task, const std::vector<bool>& decided) {
  Groups groups;
  std::unordered_map<std::string_view, size_t> first;
  for (size_t i = 0; i < task.comments.size(); ++i) {
    if (decided[i]) continue;
    const auto [at, is_new] = first.emplace(task.comments[i].text, i);
    if (is_new) {
      groups.firsts.push_back(i);
    } else {
      groups.others[at->second].push_back(i);
    }
  }
  return groups;
}

// All of a policy that a verdict may depend on. Its name is not: namespaces have their own.
std::string FingerprintOf(const Policy& policy) {
  std::string text;
  const auto add = [&](CommentStatus status, const std::string& reason, const std::string& of) {
    text += std::to_string(static_cast<int>(status)) + " " + reason + " " +
            std::to_string(of.size()) + ":" + of + "\n";
  };
  for (const TextRule& rule : policy.texts) add(rule.status, rule.reason, rule.contains);
  for (const HeadRule& rule : policy.heads) {
    add(rule.status, rule.reason, rule.head + ">=" + std::to_string(rule.threshold));
  }
  return text;
}

// What needs no model: rules of the policy, and comments that say nothing.
Delivery DecideByRule(const Task& task, std::vector<bool>& decided) {
  Delivery delivery;
  for (size_t i = 0; i < task.comments.size(); ++i) {
    Outcome outcome{CommentStatus::kNormal, Failure::kNone, Source::kRule, 1, ""};
    if (!CollapseWhitespace(task.comments[i].text).empty()) {
      outcome = task.decider.Decide(task.comments[i].text).outcome;
    }
    if (outcome.source != Source::kRule) continue;
    decided[i] = true;
    delivery.outcomes.emplace_back(i, std::move(outcome));
  }
  return delivery;
}

}  // namespace

// Calls of one task. What fails comes back as the next round's items, each with half the company.
class LlmClassifier::Round {
 public:
  Round(LlmClassifier& port, const Task& task, const Groups& groups)
      : port_(port), task_(task), groups_(groups), labels_(LabelsOf(task.decider.policy())) {}

  // Works on all batches, several at a time.
  void Run(const std::vector<CommentBatch>& batches) {
    std::atomic<size_t> next = 0;
    const auto work = [&] {
      for (size_t i = next++; i < batches.size() && !halted(); i = next++) Handle(batches[i]);
    };
    std::vector<std::jthread> helpers;
    const size_t threads = std::min(port_.options_.concurrency, batches.size());
    for (size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
    work();
  }

  std::vector<Pending> TakePending() { return std::exchange(pending_, {}); }
  bool halted() const {
    const std::lock_guard lock(mutex_);
    return stopped_ || pause_ != Failure::kNone || !status_.ok();
  }
  StatusOr<Failure> Result() const {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return status_;
    return pause_;
  }

 private:
  void Handle(const CommentBatch& batch) {
    const Status status = Judge(batch);
    if (status.ok()) return;
    const std::lock_guard lock(mutex_);
    if (status_.ok()) status_ = status;
  }

  StatusOr<Asked> Ask(ModelCaller& asker, const CommentBatch& batch) {
    std::vector<std::string_view> texts;
    for (const Pending& item : batch) texts.emplace_back(task_.comments[item.index].text);
    return asker.Ask(task_, labels_, texts);
  }

  // Whether the task goes on after this answer.
  bool GoesOn(const Asked& asked) {
    if (asked.pause == Failure::kNone && !asked.stopped) return true;
    const std::lock_guard lock(mutex_);
    if (pause_ == Failure::kNone) pause_ = asked.pause;
    stopped_ = stopped_ || asked.stopped;
    return false;
  }

  Status Judge(const CommentBatch& batch) {
    WINNOW_ASSIGN_OR_RETURN(const Asked asked, Ask(port_.primary_, batch));
    Delivery delivery = CostOf(asked);
    if (!GoesOn(asked)) return Deliver(delivery);
    std::vector<Pending> again;
    for (size_t i = 0; i < batch.size(); ++i) {
      const int label = asked.failure == Failure::kNone ? asked.labels[i] : -1;
      if (label >= 0) {
        Add(batch[i], ToOutcome(label, Source::kModel), delivery);
      } else {
        again.push_back(batch[i]);
      }
    }
    WINNOW_RETURN_IF_ERROR(Deliver(delivery));
    if (again.empty()) return OkStatus();
    if (batch.size() == 1) {
      return GiveUp(batch, asked.failure == Failure::kNone ? Failure::kSchema : asked.failure);
    }
    const std::lock_guard lock(mutex_);
    for (Pending& item : again) {
      item.limit = std::max<size_t>(1, batch.size() / 2);
      pending_.push_back(item);
    }
    return OkStatus();
  }

  // Of a comment that was alone.
  Status GiveUp(const CommentBatch& alone, Failure failure) {
    const Outcome failed{CommentStatus::kNone, failure, Source::kNone, kNoScore, ""};
    if (port_.options_.fallback == Fallback::kNone) {
      Delivery delivery;
      Add(alone[0], failed, delivery);
      return Deliver(delivery);
    }
    if (port_.options_.fallback == Fallback::kEmbedded) {
      Delivery delivery;
      Outcome outcome = task_.decider.Decide(task_.comments[alone[0].index].text).outcome;
      outcome.source = Source::kFallback;
      Add(alone[0], outcome, delivery);
      return Deliver(delivery);
    }
    WINNOW_ASSIGN_OR_RETURN(const Asked asked, Ask(*port_.second_, alone));
    Delivery delivery = CostOf(asked);
    if (GoesOn(asked)) {
      const int label = asked.failure == Failure::kNone ? asked.labels[0] : -1;
      Add(alone[0], label >= 0 ? ToOutcome(label, Source::kFallback) : failed, delivery);
    }
    return Deliver(delivery);
  }

  static Delivery CostOf(const Asked& asked) {
    return {{}, asked.calls, asked.cost_micros, asked.reservation};
  }

  Outcome ToOutcome(int index, Source source) const {
    const Label& label = labels_[static_cast<size_t>(index)];
    return {label.status, Failure::kNone, source, kNoScore, label.reason};
  }

  void Add(const Pending& item, const Outcome& outcome, Delivery& delivery) const {
    delivery.outcomes.emplace_back(item.index, outcome);
    const auto others = groups_.others.find(item.index);
    if (others == groups_.others.end()) return;
    for (const size_t other : others->second) delivery.outcomes.emplace_back(other, outcome);
  }

  Status Deliver(const Delivery& delivery) {
    if (delivery.outcomes.empty() && delivery.calls == 0) return OkStatus();
    return task_.sink.Deliver(delivery);
  }

  LlmClassifier& port_;
  const Task& task_;
  const Groups& groups_;
  const std::vector<Label> labels_;
  mutable std::mutex mutex_;
  std::vector<Pending> pending_;
  Failure pause_ = Failure::kNone;
  bool stopped_ = false;
  Status status_;
};

LlmClassifier::LlmClassifier(LlmOptions options, std::shared_ptr<LlmEnvironment> world)
    : options_(std::move(options)),
      world_(std::move(world)),
      primary_(options_.model, *world_, options_.patience) {
  if (options_.fallback == Fallback::kModel) {
    second_.emplace(options_.fallback_model, *world_, options_.patience);
  }
}

size_t LlmClassifier::batch_size() const {
  return std::min(options_.items * kCallsOfATask, kMaxOfATask);
}

std::string LlmClassifier::model() const {
  return options_.model.name + "+prompt-" + std::to_string(kPromptVersion);
}

std::string LlmClassifier::CacheName(const Decider& decider) const {
  std::string fallback = "none";
  if (options_.fallback == Fallback::kEmbedded) fallback = decider.model().version();
  if (options_.fallback == Fallback::kModel) fallback = options_.fallback_model.name;
  return model() + "\n" + fallback + "\n" + FingerprintOf(decider.policy());
}

StatusOr<Failure> LlmClassifier::Judge(const Task& task) {
  std::vector<bool> decided(task.comments.size(), false);
  const Delivery ruled = DecideByRule(task, decided);
  if (!ruled.outcomes.empty()) WINNOW_RETURN_IF_ERROR(task.sink.Deliver(ruled));
  const Groups groups = GroupByText(task, decided);
  std::vector<Pending> pending;
  for (const size_t index : groups.firsts) {
    const std::string& text = task.comments[index].text;
    pending.push_back({index, IsInjectionSuspect(text) ? 1 : options_.items, EstimateTokens(text)});
  }
  Round round(*this, task, groups);
  while (!pending.empty() && !round.halted() && !task.sink.IsStopped()) {
    round.Run(Pack(std::move(pending), options_.prompt_tokens));
    pending = round.TakePending();
  }
  return round.Result();
}

}  // namespace winnow::classification
