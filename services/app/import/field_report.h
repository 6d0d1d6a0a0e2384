#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace winnow::app {

// What an import did with the fields of its lines that are not known by their own name.
class FieldReport {
 public:
  // Distinct unknown names that are counted by name; further ones are counted together.
  static constexpr size_t kMaxNames = 50;

  struct Unknown {
    int64_t count = 0;
    std::string suggestion;  // the known field that the name resembles, or empty
  };
  struct Alias {
    std::string field;      // what it stands for: "channel_name"
    int64_t taken = 0;      // lines in which it was read as that field
    int64_t overruled = 0;  // lines that have the field itself, which wins
  };

  void AddUnknown(std::string_view name);
  void AddAlias(std::string_view name, std::string_view field, bool overruled);

  const std::map<std::string, Unknown>& unknown() const { return unknown_; }
  const std::map<std::string, Alias>& aliases() const { return aliases_; }
  // Occurrences of unknown fields beyond kMaxNames.
  int64_t others() const { return others_; }

  // One sentence for each name that was met for the first time since the last call.
  std::vector<std::string> TakeNotes();
  // The whole report as lines for people; none when every field was known.
  std::vector<std::string> Summary() const;

 private:
  std::map<std::string, Unknown> unknown_;
  std::map<std::string, Alias> aliases_;
  int64_t others_ = 0;
  std::vector<std::string> notes_;
};

// The field of an item that `name` may have been meant as: a common name for it elsewhere
// ("description": "snippet"), or one that is spelt nearly so. Empty for none.
std::string SuggestField(std::string_view name);

}  // namespace winnow::app
