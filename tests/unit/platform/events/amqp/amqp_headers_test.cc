#include "services/platform/events/amqp/amqp_headers.h"

#include <gtest/gtest.h>

#include "services/platform/events/core/dead_letters.h"
#include "services/platform/events/core/topology.h"

namespace winnow::events {
namespace {

amqp_field_value_t Text(const char* text) {
  amqp_field_value_t value{};
  value.kind = AMQP_FIELD_KIND_UTF8;
  value.value.bytes = amqp_cstring_bytes(text);
  return value;
}

amqp_field_value_t Number(int64_t number) {
  amqp_field_value_t value{};
  value.kind = AMQP_FIELD_KIND_I64;
  value.value.i64 = number;
  return value;
}

amqp_field_value_t Moment(uint64_t seconds) {
  amqp_field_value_t value{};
  value.kind = AMQP_FIELD_KIND_TIMESTAMP;
  value.value.u64 = seconds;
  return value;
}

// The header that the broker gives to what it dead-letters.
struct BrokerDeath {
  explicit BrokerDeath(const char* reason)
      : fields{{{amqp_cstring_bytes("reason"), Text(reason)},
                {amqp_cstring_bytes("count"), Number(2)},
                {amqp_cstring_bytes("time"), Moment(1'700'000'000)}}} {
    death.kind = AMQP_FIELD_KIND_TABLE;
    death.value.table = amqp::Table(fields);
    header.key = amqp_cstring_bytes("x-death");
    header.value.kind = AMQP_FIELD_KIND_ARRAY;
    header.value.value.array = {1, &death};
    properties._flags = AMQP_BASIC_HEADERS_FLAG;
    properties.headers = {1, &header};
  }
  std::array<amqp_table_entry_t, 3> fields;
  amqp_field_value_t death{};
  amqp_table_entry_t header{};
  amqp_basic_properties_t properties{};
};

TEST(DeadHeaders, AreReadAsTheyWereWritten) {
  const DeadHeaders dead{
      .reason = "ABORTED: 다시", .attempts = 20, .time = Time(std::chrono::seconds(1'700'000'000))};
  amqp::DeadEntries entries;
  amqp_basic_properties_t properties{};
  amqp::WriteDead(dead, entries, properties);
  const DeadHeaders read = amqp::ReadDead(properties);
  EXPECT_EQ(read.reason, dead.reason);
  EXPECT_EQ(read.attempts, dead.attempts);
  EXPECT_EQ(read.time, dead.time);
}

TEST(DeadHeaders, OfTheBrokerAreReadToo) {
  const DeadHeaders read = amqp::ReadDead(BrokerDeath("expired").properties);
  EXPECT_EQ(read.reason, "expired");
  EXPECT_EQ(read.attempts, 2);
  EXPECT_EQ(read.time, Time(std::chrono::seconds(1'700'000'000)));
  EXPECT_EQ(amqp::ReadDead(BrokerDeath("delivery_limit").properties).attempts, kDeliveryLimit + 1);
}

TEST(DeadHeaders, OfAnythingElseSayNothing) {
  amqp_basic_properties_t properties{};
  EXPECT_EQ(amqp::ReadDead(properties).reason, "");
  amqp_table_entry_t odd = amqp::Entry("x-death", 7);
  properties._flags = AMQP_BASIC_HEADERS_FLAG;
  properties.headers = {1, &odd};
  EXPECT_EQ(amqp::ReadDead(properties).reason, "");
  amqp_table_entry_t empty{};
  empty.key = amqp_cstring_bytes("x-death");
  empty.value.kind = AMQP_FIELD_KIND_ARRAY;
  properties.headers = {1, &empty};
  EXPECT_EQ(amqp::ReadDead(properties).attempts, 0);
}

TEST(DeadLetterReason, IsCutBetweenCharactersAndIsAlwaysText) {
  EXPECT_EQ(KeptReason("short"), "short");
  std::string long_text;
  while (long_text.size() < 3'000) long_text += "가";
  const std::string kept = KeptReason(long_text);
  EXPECT_LE(kept.size(), 1'024U);
  EXPECT_EQ(kept.size() % 3, 0U);
  EXPECT_LE(KeptReason(std::string(5'000, '\xff')).size(), 1'024U);
  EXPECT_EQ(KeptReason("a\xff"), "a\xef\xbf\xbd");
}

}  // namespace
}  // namespace winnow::events
