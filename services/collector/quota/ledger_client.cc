#include "services/collector/quota/ledger_client.h"

#include <algorithm>
#include <charconv>

#include "services/collector/sources/dates.h"

namespace winnow::collector {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::hours kAuthPause{1};
constexpr std::chrono::minutes kRatePause{15};

std::optional<int64_t> NumberOf(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// What is to be left alone after an error, and for how long.
void Block(QuotaState& state, const QuotaLimits& limits, const VendorError& error,
           std::optional<std::chrono::seconds> retry_after, Time now) {
  if (error.remedy == Remedy::kNextDay) {
    BlockUntilReset(state, limits, now);
  } else if (error.remedy == Remedy::kOperator) {
    BlockUntil(state, now + kAuthPause, Outcome::kAuth);
  } else if (error.outcome == Outcome::kRate && error.remedy == Remedy::kLater) {
    // A used up day says 429 like any other.
    const bool day_is_over = limits.per_day > 0 && DayLeft(state, limits, now) == 0;
    if (day_is_over) return BlockUntilReset(state, limits, now);
    BlockUntil(state, now + retry_after.value_or(kRatePause), Outcome::kRate);
  }
}

}  // namespace

LedgerClient::LedgerClient(const std::vector<Credential>& credentials, QuotaStore& store,
                           const Clock& clock, Metrics& metrics)
    : store_(store), clock_(clock) {
  for (const Credential& credential : credentials) {
    auto account = std::make_unique<Account>();
    const Labels labels = {{"credential", credential.name}};
    account->left = &metrics.GetGauge("winnow_collector_quota_left_calls",
                                      "Calls of the vendor's day that are left.", labels);
    account->left->Set(static_cast<double>(credential.limits.per_day));
    account->calls = &metrics.GetCounter("winnow_collector_calls_total",
                                         "Calls to vendors that the ledger granted.", labels);
    accounts_.emplace(credential.name, std::move(account));
  }
}

LedgerClient::Account& LedgerClient::AccountOf(const Credential& credential) {
  return *accounts_.at(credential.name);
}

void LedgerClient::TakeOver(Time store_time) {
  for (auto& [name, account] : accounts_) {
    const std::lock_guard lock(account->clock_mutex);
    account->clock.Anchor(clock_.Now(), store_time, steady_clock::now());
  }
}

void LedgerClient::Observe(Time store_time) {
  for (auto& [name, account] : accounts_) {
    const std::lock_guard lock(account->clock_mutex);
    account->clock.Observe(clock_.Now(), store_time, steady_clock::now());
  }
}

LedgerClient::Turn LedgerClient::TakeTurn(const Credential& credential) {
  return Turn(AccountOf(credential).turn);
}

StatusOr<Grant> LedgerClient::Reserve(Deadline deadline, const Credential& credential) {
  Account& account = AccountOf(credential);
  const std::lock_guard lock(account.clock_mutex);
  const ClockWord word = account.clock.Read(steady_clock::now());
  Grant grant;
  int64_t left = 0;
  WINNOW_RETURN_IF_ERROR(
      store_.Change(deadline, credential.name, credential.key_hash, [&](QuotaState& state) {
        grant = collector::Reserve(state, credential.limits, word);
        left = DayLeft(state, credential.limits, word.now);
      }));
  account.clock.Granted(grant.granted);
  account.left->Set(static_cast<double>(left));
  if (grant.granted) account.calls->Increment();
  return grant;
}

std::chrono::milliseconds LedgerClient::WaitOf(const Credential& credential, const Grant& grant) {
  Account& account = AccountOf(credential);
  const std::lock_guard lock(account.clock_mutex);
  const auto wait = grant.retry_at - account.clock.At(steady_clock::now());
  // Rounded up, so that it is over when it is over.
  return std::max(std::chrono::milliseconds(1), std::chrono::ceil<std::chrono::milliseconds>(wait));
}

StatusOr<std::chrono::seconds> LedgerClient::Settle(Deadline deadline, const Credential& credential,
                                                    const http::Response& response,
                                                    const std::optional<VendorError>& error) {
  Account& account = AccountOf(credential);
  const std::lock_guard lock(account.clock_mutex);
  const auto steady = steady_clock::now();
  if (const auto date = ParseDate(response.Find("date"))) account.clock.Follow(*date, steady);
  const Time now = account.clock.At(steady);
  const VendorCount count{NumberOf(response.Find("x-ratelimit-remaining")),
                          NumberOf(response.Find("x-api-limit-remaining"))};
  Time until{};
  int64_t left = 0;
  WINNOW_RETURN_IF_ERROR(
      store_.Change(deadline, credential.name, credential.key_hash, [&](QuotaState& state) {
        Correct(state, credential.limits, count, now);
        if (error) Block(state, credential.limits, *error, http::RetryAfter(response, now), now);
        until = state.blocked_until;
        left = DayLeft(state, credential.limits, now);
      }));
  account.left->Set(static_cast<double>(left));
  return std::max(std::chrono::seconds(0), std::chrono::ceil<std::chrono::seconds>(until - now));
}

}  // namespace winnow::collector
