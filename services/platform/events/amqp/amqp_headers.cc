#include "services/platform/events/amqp/amqp_headers.h"

#include <algorithm>
#include <chrono>

#include "services/platform/events/core/topology.h"

namespace winnow::events::amqp {
namespace {

constexpr char kReason[] = "x-winnow-reason";
constexpr char kAttempts[] = "x-winnow-attempts";
constexpr char kDeath[] = "x-death";  // of the broker: an array, the latest first
constexpr char kDeliveryLimitWord[] = "delivery_limit";
constexpr int64_t kMaxAttempts = 1'000'000'000;

const amqp_field_value_t* Find(const amqp_table_t& table, std::string_view key) {
  for (int i = 0; i < table.num_entries; ++i) {
    if (ToString(table.entries[i].key) == key) return &table.entries[i].value;
  }
  return nullptr;
}

std::string TextOf(const amqp_field_value_t* value) {
  if (value == nullptr) return "";
  const bool is_text = value->kind == AMQP_FIELD_KIND_UTF8 || value->kind == AMQP_FIELD_KIND_BYTES;
  return is_text ? ToString(value->value.bytes) : "";
}

int64_t NumberOf(const amqp_field_value_t* value) {
  if (value == nullptr) return 0;
  switch (value->kind) {
    case AMQP_FIELD_KIND_I32:
      return value->value.i32;
    case AMQP_FIELD_KIND_I64:
      return value->value.i64;
    case AMQP_FIELD_KIND_TIMESTAMP:
      return static_cast<int64_t>(value->value.u64);
    default:
      return 0;
  }
}

int ToAttempts(int64_t number) {
  return static_cast<int>(std::clamp(number, int64_t{0}, kMaxAttempts));
}

// Times beyond the year 9999 are invalid.
Time ToTime(int64_t seconds) {
  constexpr int64_t kMaxSeconds = 253'402'300'799;
  return Time(std::chrono::seconds(std::clamp(seconds, int64_t{0}, kMaxSeconds)));
}

DeadHeaders OfBroker(const amqp_table_t& headers) {
  const amqp_field_value_t* deaths = Find(headers, kDeath);
  if (deaths == nullptr || deaths->kind != AMQP_FIELD_KIND_ARRAY ||
      deaths->value.array.num_entries == 0 ||
      deaths->value.array.entries[0].kind != AMQP_FIELD_KIND_TABLE) {
    return {};
  }
  const amqp_table_t& death = deaths->value.array.entries[0].value.table;
  DeadHeaders dead{.reason = TextOf(Find(death, "reason")),
                   .attempts = ToAttempts(NumberOf(Find(death, "count"))),
                   .time = ToTime(NumberOf(Find(death, "time")))};
  if (dead.reason == kDeliveryLimitWord) dead.attempts = kDeliveryLimit + 1;
  return dead;
}

}  // namespace

amqp_bytes_t ToBytes(std::string_view text) {
  return {text.size(), const_cast<char*>(text.data())};
}

amqp_table_entry_t Entry(const char* key, const char* text) {
  amqp_table_entry_t entry{};
  entry.key = amqp_cstring_bytes(key);
  entry.value.kind = AMQP_FIELD_KIND_UTF8;
  entry.value.value.bytes = amqp_cstring_bytes(text);
  return entry;
}

amqp_table_entry_t Entry(const char* key, int number) {
  amqp_table_entry_t entry{};
  entry.key = amqp_cstring_bytes(key);
  entry.value.kind = AMQP_FIELD_KIND_I32;
  entry.value.value.i32 = number;
  return entry;
}

amqp_table_entry_t Entry(const char* key, bool flag) {
  amqp_table_entry_t entry{};
  entry.key = amqp_cstring_bytes(key);
  entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
  entry.value.value.boolean = flag ? 1 : 0;
  return entry;
}

void WriteDead(const DeadHeaders& dead, DeadEntries& entries, amqp_basic_properties_t& properties) {
  entries = {Entry(kReason, dead.reason.c_str()), Entry(kAttempts, dead.attempts)};
  properties._flags |= AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_TIMESTAMP_FLAG;
  properties.headers = Table(entries);
  properties.timestamp = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(dead.time.time_since_epoch()).count());
}

DeadHeaders ReadDead(const amqp_basic_properties_t& properties) {
  if ((properties._flags & AMQP_BASIC_HEADERS_FLAG) == 0) return {};
  const amqp_field_value_t* reason = Find(properties.headers, kReason);
  if (reason == nullptr) return OfBroker(properties.headers);
  const bool timed = (properties._flags & AMQP_BASIC_TIMESTAMP_FLAG) != 0;
  return {.reason = TextOf(reason),
          .attempts = ToAttempts(NumberOf(Find(properties.headers, kAttempts))),
          .time = ToTime(timed ? static_cast<int64_t>(properties.timestamp) : 0)};
}

}  // namespace winnow::events::amqp
