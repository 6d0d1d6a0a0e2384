#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/platform/base/clock.h"

namespace winnow::pg {

// An array parameter in PostgreSQL's binary form, for bulk inserts: nothing is escaped here, and
// the server neither parses times nor undoes escapes. Say the element's type as the statement's
// cast does: BinaryArray(BinaryArray::kText) for `unnest($1::text[])`. Binary parameters come
// before all others of a statement.
class BinaryArray {
 public:
  // Type oids, which are the same in every database.
  enum Type : uint32_t {
    kBytea = 17,
    kBigint = 20,
    kText = 25,
    kDouble = 701,
    kTimestamptz = 1184,
    kUuid = 2950
  };

  explicit BinaryArray(Type type);
  void Reserve(size_t bytes) { bytes_.reserve(bytes); }
  void AddText(std::string_view text) { AddElement(text); }     // kText; may hold no NUL
  void AddBytes(std::string_view bytes) { AddElement(bytes); }  // kBytea
  void AddNumber(int64_t number);                               // kBigint
  void AddDouble(double number);                                // kDouble
  void AddTime(Time time);                                      // kTimestamptz
  void AddUuid(std::string_view text);  // kUuid: 32 hex digits, hyphens between them or not
  void AddUuid(uint64_t high, uint64_t low);
  void AddNull();  // any type

  // The array as it travels.
  std::string ToBytes() const;

 private:
  void AddElement(std::string_view bytes);
  Type type_;
  int32_t size_ = 0;
  bool has_null_ = false;
  std::string bytes_;
};

}  // namespace winnow::pg
