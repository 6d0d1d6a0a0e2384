#include "services/classification/llm/model_caller.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "services/classification/llm/canaries.h"
#include "services/classification/llm/chat_request.h"

namespace winnow::classification {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBesideHolders{20};  // between looks at others' reservations
constexpr int64_t kMillion = 1'000'000;

// Those that time may heal.
bool Passes(Failure failure) {
  return failure == Failure::kTransient || failure == Failure::kRateLimit ||
         failure == Failure::kDeadline;
}

bool Pauses(Failure failure) {
  return failure == Failure::kQuota || failure == Failure::kAuth || failure == Failure::kBudget;
}

// No text can hold it: who wrote the text did not know it.
std::string NewNonce(LlmEnvironment& world) {
  std::array<char, 33> hex{};
  std::snprintf(hex.data(), hex.size(), "%016llx%016llx",
                static_cast<unsigned long long>(world.Random()),
                static_cast<unsigned long long>(world.Random()));
  return std::string("fence-") + hex.data();
}

// The texts as they are asked: canaries at unpredictable places.
struct Lineup {
  std::vector<std::string_view> texts;
  std::vector<std::pair<size_t, CommentStatus>> canaries;  // by place
};

Lineup MakeLineup(LlmEnvironment& world, std::span<const Label> labels,
                  std::span<const std::string_view> texts) {
  Lineup lineup;
  lineup.texts.assign(texts.begin(), texts.end());
  for (const Canary& canary : PickCanaries(labels, world.Random())) {
    const size_t place = world.Random() % (lineup.texts.size() + 1);
    lineup.texts.insert(lineup.texts.begin() + static_cast<std::ptrdiff_t>(place), canary.text);
    for (auto& [at, status] : lineup.canaries) at += at >= place ? 1 : 0;
    lineup.canaries.emplace_back(place, canary.status);
  }
  return lineup;
}

bool CanariesLive(const Lineup& lineup, std::span<const Label> labels, const ChatAnswer& answer) {
  return std::all_of(lineup.canaries.begin(), lineup.canaries.end(), [&](const auto& canary) {
    const int label = answer.labels[canary.first];
    return label >= 0 && labels[static_cast<size_t>(label)].status == canary.second;
  });
}

void TakeCanariesOut(const Lineup& lineup, ChatAnswer& answer) {
  std::vector<int> labels;
  for (size_t i = 0; i < answer.labels.size(); ++i) {
    const bool canary = std::any_of(lineup.canaries.begin(), lineup.canaries.end(),
                                    [&](const auto& one) { return one.first == i; });
    if (!canary) labels.push_back(answer.labels[i]);
  }
  answer.labels = std::move(labels);
}

}  // namespace

int64_t ModelCaller::CostOf(const Usage& usage) const {
  const int64_t micros = usage.prompt_tokens * model_.input_price_micros +
                         usage.completion_tokens * model_.output_price_micros;
  return (micros + kMillion - 1) / kMillion;
}

// No tokeniser makes more tokens than bytes.
int64_t ModelCaller::MostCost(const std::string& body) const {
  return CostOf({static_cast<int64_t>(body.size()), model_.max_output_tokens});
}

StatusOr<int64_t> ModelCaller::Reserve(const Task& task, int64_t micros, Asked& asked) {
  for (;;) {
    {
      const std::lock_guard lock(reserve_mutex_);
      WINNOW_ASSIGN_OR_RETURN(const int64_t reservation, task.sink.Reserve(micros));
      if (reservation == 0 && holders_ == 0) return 0;
      if (reservation != 0) {
        ++holders_;
        asked.hold = std::shared_ptr<void>(nullptr, [this](void*) {
          const std::lock_guard release(reserve_mutex_);
          --holders_;
        });
        return reservation;
      }
    }
    if (task.sink.IsStopped()) {
      asked.stopped = true;
      return 0;
    }
    world_.Wait(world_.Now() + kBesideHolders, [&task] { return task.sink.IsStopped(); });
  }
}

StatusOr<ModelCaller::Reply> ModelCaller::CallOnce(const Task& task, std::span<const Label> labels,
                                                   std::span<const std::string_view> texts,
                                                   Asked& asked) {
  const Lineup lineup = MakeLineup(world_, labels, texts);
  const std::string body =
      ChatRequest({model_.name, model_.max_output_tokens, labels, lineup.texts, NewNonce(world_)});
  const int64_t most = MostCost(body);
  Reply reply;
  WINNOW_ASSIGN_OR_RETURN(const int64_t reservation, Reserve(task, most, asked));
  if (reservation == 0) {
    reply.answer.failure = Failure::kBudget;
    return reply;
  }
  const WireReply wire = world_.Post(body, [&task] { return task.sink.IsStopped(); });
  reply.answer = ReadReply(wire, labels, lineup.texts.size());
  if (wire.retry_after) reply.retry_after = *wire.retry_after;
  Failure& failure = reply.answer.failure;
  if (failure == Failure::kNone && !CanariesLive(lineup, labels, reply.answer)) {
    failure = Failure::kCanary;
  }
  if (failure == Failure::kNone) TakeCanariesOut(lineup, reply.answer);
  asked.calls += 1;
  asked.reservation = reservation;
  // An answer that does not say what it cost, and one that did not come in time, may cost it all.
  const bool unknown = wire.status / 100 == 2 || wire.failure == Failure::kDeadline;
  if (reply.answer.usage) {
    asked.cost_micros += CostOf(*reply.answer.usage);
  } else if (unknown) {
    asked.cost_micros += most;
  }
  world_.CountCall(failure);
  return reply;
}

void ModelCaller::Failed(const Reply& reply, bool probe) {
  gate_.Fail(world_.Now(), reply.answer.failure, reply.retry_after, world_.Random(), probe);
  world_.SetCircuitOpen(gate_.is_open());
}

Status ModelCaller::Settle(const Task& task, Asked& asked) {
  if (asked.calls == 0) return OkStatus();
  Status status = task.sink.Deliver({{}, asked.calls, asked.cost_micros, asked.reservation});
  asked.calls = 0;
  asked.cost_micros = 0;
  asked.reservation = 0;
  asked.hold.reset();
  return status;
}

bool ModelCaller::AwaitTurn(const Task& task, Asked& asked, bool& probe) {
  for (;;) {
    if (task.sink.IsStopped()) {
      asked.stopped = true;
      return false;
    }
    if (gate_.Silence(world_.Now()) > patience_) {
      asked.pause = gate_.last();
      return false;
    }
    const CallGate::Turn turn = gate_.Ask(world_.Now());
    probe = turn.pass == CallGate::Pass::kProbe;
    if (turn.pass != CallGate::Pass::kWait) return true;
    world_.Wait(turn.until, [&task] { return task.sink.IsStopped(); });
  }
}

StatusOr<bool> ModelCaller::Probe(const Task& task, std::span<const Label> labels, bool holds_probe,
                                  Asked& asked) {
  StatusOr<Reply> reply = CallOnce(task, labels, {}, asked);
  if (!reply.ok() || asked.calls == 0) {  // it was not made
    if (holds_probe) gate_.GiveBack();
    WINNOW_RETURN_IF_ERROR(reply.status());
    if (!asked.stopped) asked.pause = Failure::kBudget;
    return false;
  }
  const Failure failure = reply->answer.failure;
  if (Passes(failure)) {
    Failed(*reply, holds_probe);
  } else {
    gate_.Succeed(holds_probe);
    world_.SetCircuitOpen(false);
  }
  if (Pauses(failure)) asked.pause = failure;
  WINNOW_RETURN_IF_ERROR(Settle(task, asked));
  return !Passes(failure);
}

StatusOr<Asked> ModelCaller::Ask(const Task& task, std::span<const Label> labels,
                                 std::span<const std::string_view> texts) {
  Asked asked;
  Failure last = Failure::kNone;
  for (int attempts = 0;;) {
    bool probe = false;
    if (!AwaitTurn(task, asked, probe)) return asked;
    const bool exhausted = attempts >= kAttempts;
    if (probe || exhausted) {
      // The texts are to blame only where the model answers others.
      WINNOW_ASSIGN_OR_RETURN(const bool well, Probe(task, labels, probe, asked));
      if (asked.pause != Failure::kNone || asked.stopped) return asked;
      if (!well || !exhausted) continue;
      asked.failure = last;
      return asked;
    }
    WINNOW_ASSIGN_OR_RETURN(Reply reply, CallOnce(task, labels, texts, asked));
    if (asked.stopped) return asked;
    last = reply.answer.failure;
    if (Passes(last)) {
      Failed(reply, false);
      WINNOW_RETURN_IF_ERROR(Settle(task, asked));
      attempts += last == Failure::kRateLimit ? 0 : 1;
      continue;
    }
    if (last != Failure::kBudget) gate_.Succeed(false);
    if (Pauses(last)) {
      asked.pause = last;
    } else {
      asked.failure = last;
      asked.labels = std::move(reply.answer.labels);
    }
    return asked;
  }
}

}  // namespace winnow::classification
