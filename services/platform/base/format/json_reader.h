#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// A pull reader of JSON (RFC 8259) that keeps nothing: texts of 100 MB cost no more memory than
// the values that the caller keeps. Strict: no comments, no trailing commas. It is the only parser
// of JSON here; json_tree.h builds on it. simdjson does not do for either: it refuses lone
// surrogates, which vendors send, gives nothing of a text that breaks off, and its errors have no
// position.
namespace winnow {

class JsonReader {
 public:
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject, kEnd, kError };

  struct Rules {
    int max_depth = 64;                    // of objects and lists
    bool refuses_lone_surrogates = false;  // or reads them as U+FFFD
  };

  // `text` outlives the reader.
  explicit JsonReader(std::string_view text) : text_(text) {}
  JsonReader(std::string_view text, const Rules& rules) : text_(text), rules_(rules) {}

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
    if (!Open(Kind::kObject)) return false;
    for (bool first = true; !Close('}'); first = false) {
      std::string name;
      if (!ReadName(first, name)) return false;
      if (!member(std::string_view(name))) return Fail("refused by its reader");
    }
    return true;
  }
  // The name read last as it is spelled, with its quotes.
  std::string_view name_spelling() const { return name_spelling_; }

  // Reads a list: `item()` consumes one value and answers whether to go on.
  template <class Item>
  bool ReadArray(Item&& item) {
    if (!Open(Kind::kArray)) return false;
    for (bool first = true; !Close(']'); first = false) {
      if (!BeginItem(first)) return false;
      if (!item()) return Fail("refused by its reader");
    }
    return true;
  }

  bool ok() const { return error_.empty(); }
  // What was wrong first, and where, in bytes from the begin of the text.
  std::string error() const;
  // The same without the position.
  const std::string& reason() const { return error_; }
  size_t position() const { return position_; }
  // Ends reading; what is read after it fails too. Keeps the first error. Always false.
  bool Fail(std::string_view why);

 private:
  char Next() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  char NextAfterSpace();
  bool Take(char c);
  bool Expect(Kind kind);
  bool Open(Kind kind);
  bool Close(char c);
  bool ReadName(bool first, std::string& name);
  bool BeginItem(bool first);
  bool TakeWord(std::string_view word);
  bool TakeDigits();
  bool ScanString(std::string* value);
  bool ScanEscape(std::string* value);
  bool ScanUnicodeEscape(std::string* value);

  std::string_view text_;
  Rules rules_;
  size_t position_ = 0;
  int depth_ = 0;
  std::string_view name_spelling_;
  std::string error_;
};

// "an object", "a string", ...
std::string_view NameOfKind(JsonReader::Kind kind);

// `text` as a JSON string, quotes included. Invalid UTF-8 is written as U+FFFD.
std::string JsonQuoted(std::string_view text);

}  // namespace winnow
