#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "services/platform/base/status.h"

namespace winnow::redis {

// What Redis answered to one command. The readers below turn an answer of another kind than asked
// for into INTERNAL, and an error of Redis into its status: UNAVAILABLE (REDIS_UNAVAILABLE) while
// it cannot serve (loading, read-only, out of memory), else INTERNAL. Its text goes to the log
// only.
class Reply {
 public:
  struct Nil {};
  struct Error {
    std::string text;  // "WRONGTYPE Operation against ..."
  };
  using Array = std::vector<Reply>;

  Reply() : value_(Nil{}) {}
  explicit Reply(int64_t value) : value_(value) {}
  explicit Reply(std::string value) : value_(std::move(value)) {}
  explicit Reply(Error error) : value_(std::move(error)) {}
  explicit Reply(Array items) : value_(std::move(items)) {}

  bool IsNil() const { return std::holds_alternative<Nil>(value_); }
  const Error* error() const { return std::get_if<Error>(&value_); }
  // The parts of an array, for the parser too; null for another kind.
  Array* items() { return std::get_if<Array>(&value_); }
  const Array* items() const { return std::get_if<Array>(&value_); }
  const std::string* text() const { return std::get_if<std::string>(&value_); }

  // OK for everything but an error of Redis.
  Status ToStatus() const;
  StatusOr<int64_t> Integer() const;
  // Bytes of a string; nothing for nil.
  StatusOr<std::optional<std::string>> MaybeText() const;
  StatusOr<std::string> Text() const;
  // An array of strings and nils, e.g. of HMGET and MGET.
  StatusOr<std::vector<std::optional<std::string>>> MaybeTexts() const;
  StatusOr<std::vector<std::string>> Texts() const;
  // An array of names and values by turns: HGETALL, ZRANGE WITHSCORES.
  StatusOr<std::vector<std::pair<std::string, std::string>>> Pairs() const;

 private:
  Status WrongKind(std::string_view wanted) const;

  std::variant<Nil, int64_t, std::string, Error, Array> value_;
};

}  // namespace winnow::redis
