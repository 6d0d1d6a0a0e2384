#pragma once

#include <amqp.h>

#include <array>
#include <string>
#include <string_view>

#include "services/platform/events/amqp/amqp_connection.h"

// librabbitmq's tables and bytes, made and read. For amqp_connection.cc alone.
namespace winnow::events::amqp {

inline std::string ToString(amqp_bytes_t bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}
// Points into `text`, which the library does not write to.
amqp_bytes_t ToBytes(std::string_view text);

amqp_table_entry_t Entry(const char* key, const char* text);
amqp_table_entry_t Entry(const char* key, int number);
amqp_table_entry_t Entry(const char* key, bool flag);

template <size_t kCount>
amqp_table_t Table(std::array<amqp_table_entry_t, kCount>& entries) {
  return {static_cast<int>(kCount), entries.data()};
}

using DeadEntries = std::array<amqp_table_entry_t, 2>;
// Sets headers and time stamp; both point into `dead` and `entries`.
void WriteDead(const DeadHeaders& dead, DeadEntries& entries, amqp_basic_properties_t& properties);
// What is said; nothing of a message that is not a dead letter.
DeadHeaders ReadDead(const amqp_basic_properties_t& properties);

}  // namespace winnow::events::amqp
