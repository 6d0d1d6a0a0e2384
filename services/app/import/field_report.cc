#include "services/app/import/field_report.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "services/app/client/terminal.h"
#include "services/platform/base/ascii.h"

namespace winnow::app {
namespace {

constexpr size_t kMaxNameBytes = 64;

constexpr std::string_view kFields[] = {
    "url",         "title",    "snippet",   "channel",          "channel_name",
    "external_id", "language", "image_url", "channel_icon_url", "video_url",
    "categories",  "keywords", "ai_tags",   "published_at",
};

struct Synonym {
  std::string_view name;  // as Plain() writes it
  std::string_view field;
};
constexpr Synonym kSynonyms[] = {
    {"articleid", "external_id"},
    {"author", "channel_name"},
    {"body", "snippet"},
    {"category", "categories"},
    {"content", "snippet"},
    {"date", "published_at"},
    {"description", "snippet"},
    {"guid", "external_id"},
    {"headline", "title"},
    {"id", "external_id"},
    {"image", "image_url"},
    {"lang", "language"},
    {"lead", "snippet"},
    {"link", "url"},
    {"originallink", "url"},
    {"outlet", "channel"},
    {"outletname", "channel_name"},
    {"pubdate", "published_at"},
    {"published", "published_at"},
    {"publisher", "channel"},
    {"publishtime", "published_at"},
    {"source", "channel"},
    {"sourcecategories", "categories"},
    {"sourceicon", "channel_icon_url"},
    {"sourceid", "channel"},
    {"summary", "snippet"},
    {"tags", "keywords"},
    {"text", "snippet"},
    {"thumbnail", "image_url"},
    {"video", "video_url"},
};

// Lower case letters and digits: "imageUrl", "image-url" and "image_url" are one.
std::string Plain(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c != '_' && c != '-' && c != ' ' && c != '.') out += ToLowerAscii(c);
  }
  return out;
}

// Insertions, deletions and replacements of bytes between two short names.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

std::string Shown(std::string_view name) {
  const bool cut = name.size() > kMaxNameBytes;
  return Printable(std::string(name.substr(0, kMaxNameBytes))) + (cut ? "..." : "");
}

std::string Lines(int64_t count) { return WithCommas(count) + (count == 1 ? " line" : " lines"); }

std::string Meaning(const FieldReport::Unknown& unknown) {
  return unknown.suggestion.empty() ? "" : " (did you mean " + unknown.suggestion + "?)";
}

}  // namespace

std::string SuggestField(std::string_view name) {
  const std::string plain = Plain(name.substr(0, kMaxNameBytes));
  for (const Synonym& synonym : kSynonyms) {
    if (synonym.name == plain) return std::string(synonym.field);
  }
  std::string_view best;
  size_t least = plain.size() <= 4 ? 1 : 2;  // more differences than that are another word
  for (const std::string_view field : kFields) {
    const size_t distance = EditDistance(plain, Plain(field));
    if (distance > least || (distance == least && !best.empty())) continue;
    best = field;
    least = distance;
  }
  return std::string(best);
}

void FieldReport::AddUnknown(std::string_view name) {
  const std::string shown = Shown(name);
  const auto found = unknown_.find(shown);
  if (found != unknown_.end()) {
    ++found->second.count;
  } else if (unknown_.size() < kMaxNames) {
    const Unknown& added = unknown_[shown] = {1, SuggestField(name)};
    notes_.push_back("unknown field " + shown + " is ignored" + Meaning(added));
  } else {
    ++others_;
  }
}

void FieldReport::AddAlias(std::string_view name, std::string_view field, bool overruled) {
  const auto [at, is_new] = aliases_.try_emplace(std::string(name));
  Alias& alias = at->second;
  alias.field = field;
  ++(overruled ? alias.overruled : alias.taken);
  const std::string& of = alias.field;
  if (alias.taken == 1 && !overruled) notes_.push_back(at->first + " is taken as " + of);
  if (alias.overruled == 1 && overruled) {
    notes_.push_back(at->first + " is ignored in lines with " + of);
  }
}

std::vector<std::string> FieldReport::TakeNotes() { return std::exchange(notes_, {}); }

std::vector<std::string> FieldReport::Summary() const {
  std::vector<std::string> lines;
  for (const auto& [name, alias] : aliases_) {
    if (alias.taken > 0) {
      lines.push_back(name + " was taken as " + alias.field + " in " + Lines(alias.taken));
    }
    if (alias.overruled > 0) {
      lines.push_back(name + " was ignored in " + Lines(alias.overruled) + " with " + alias.field);
    }
  }
  for (const auto& [name, unknown] : unknown_) {
    lines.push_back("unknown field " + name + " was ignored in " + Lines(unknown.count) +
                    Meaning(unknown));
  }
  if (others_ > 0) {
    lines.push_back("further unknown fields were ignored " + WithCommas(others_) + " times");
  }
  return lines;
}

}  // namespace winnow::app
