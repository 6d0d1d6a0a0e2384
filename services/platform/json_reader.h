#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// A pull reader of JSON (RFC 8259) that keeps nothing: texts of 100 MB cost no more memory than
// the values that the caller keeps. Strict: no comments, no trailing commas, at most 64 deep.
namespace winnow {

class JsonReader {
 public:
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject, kEnd, kError };

  // `text` outlives the reader.
  explicit JsonReader(std::string_view text) : text_(text) {}

  // What comes next; kEnd after the last value of the text, kError after an error.
  Kind Peek();

  // Each reads one value, which must be of that kind; false after an error.
  bool ReadString(std::string& value);
  bool ReadNumber(std::string_view& spelling);
  bool ReadInteger(int64_t& value);
  bool ReadDouble(double& value);
  bool ReadBool(bool& value);
  bool ReadNull();
  bool Skip();  // of any kind
  // The bytes of the next value, which is skipped.
  bool ReadRaw(std::string_view& raw);

  // Reads an object: `member(std::string_view name)` consumes the member's value and answers
  // whether to go on. The name is valid until the next one is read at this depth.
  template <class Member>
  bool ReadObject(Member&& member) {
    if (!Open('{')) return false;
    for (bool first = true;; first = false) {
      if (Close('}')) return true;
      std::string name;
      if (!Separator(first) || !ReadString(name) || !Take(':')) return Fail("no object");
      if (!member(std::string_view(name))) return Fail("refused by its reader");
    }
  }

  // Reads a list: `item()` consumes one value and answers whether to go on.
  template <class Item>
  bool ReadArray(Item&& item) {
    if (!Open('[')) return false;
    for (bool first = true;; first = false) {
      if (Close(']')) return true;
      if (!Separator(first)) return Fail("no list");
      if (!item()) return Fail("refused by its reader");
    }
  }

  bool ok() const { return error_.empty(); }
  // What was wrong first, and where, in bytes from the begin of the text.
  const std::string& error() const { return error_; }
  size_t position() const { return position_; }
  // Ends reading; what is read after it fails too. Keeps the first error. Always false.
  bool Fail(std::string_view why);

 private:
  void SkipSpace();
  bool Take(char c);
  bool Open(char c);
  bool Close(char c);
  bool Separator(bool first);
  bool TakeWord(std::string_view word);
  bool ReadEscape(std::string& value);
  bool ReadUnit(uint32_t& unit);

  std::string_view text_;
  size_t position_ = 0;
  int depth_ = 0;
  std::string error_;
};

// `text` as a JSON string, quotes included. Invalid UTF-8 is written as U+FFFD.
std::string JsonQuoted(std::string_view text);

}  // namespace winnow
