#include "services/collector/items/item.h"

#include <algorithm>

#include "services/platform/base/ascii.h"
#include "services/platform/base/text.h"
#include "services/platform/base/url/url.h"

namespace winnow::collector {
namespace {

struct TextRule {
  const char* field;
  std::string Item::*text;
  size_t limit;
};

constexpr TextRule kTextRules[] = {
    {"channel", &Item::channel, kMaxChannel},
    {"external_id", &Item::external_id, kMaxExternalId},
    {"url", &Item::url, kMaxUrl},
    {"title", &Item::title, kMaxTitle},
    {"snippet", &Item::snippet, kMaxSnippet},
    {"language", &Item::language, kMaxLanguage},
    {"channel_name", &Item::channel_name, kMaxChannelName},
    {"channel_icon_url", &Item::channel_icon_url, kMaxUrl},
    {"image_url", &Item::image_url, kMaxUrl},
    {"video_url", &Item::video_url, kMaxUrl},
};

std::string Join(std::string_view path, std::string_view field) {
  return std::string(path) + "." + std::string(field);
}

bool IsBlank(std::string_view text) {
  // Only these bytes begin a white space character; most texts begin with a letter.
  const auto first = static_cast<unsigned char>(text.empty() ? ' ' : text.front());
  const bool may_be_space = first <= ' ' || (first >= 0xC2 && first <= 0xE3);
  return may_be_space && CollapseWhitespace(text).empty();
}

bool IsLanguageTag(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return IsAsciiAlnum(c) || c == '-'; });
}

// Enough for an address that is only handed on: the service that fetches it validates it in full.
bool IsHttpUrl(std::string_view url) {
  const bool http = StartsWithAnyCase(url, "http://");
  if (!http && !StartsWithAnyCase(url, "https://")) return false;
  const std::string_view rest = url.substr(http ? 7 : 8);
  const bool has_host = !rest.empty() && rest.find_first_of("/?#") != 0;
  return has_host && std::none_of(rest.begin(), rest.end(), [](char c) {
           return static_cast<unsigned char>(c) <= ' ' || c == 0x7F;
         });
}

void CheckRequired(const Item& item, std::string_view path, Violations& violations) {
  if (IsBlank(item.channel)) {
    violations.Add(Join(path, "channel"), "is required: name the outlet that published the item");
  }
  if (IsBlank(item.title)) {
    violations.Add(Join(path, "title"), "is required: send the headline or first words");
  }
  if (item.external_id.empty() && item.url.empty()) {
    violations.Add(Join(path, "external_id"),
                   "is required when url is empty: the item needs one of the two as its identity");
  }
}

void CheckWords(const std::vector<std::string>& words, size_t limit, std::string_view path,
                std::string_view name, Violations& violations) {
  if (words.empty()) return;
  const std::string field = Join(path, name);
  if (words.size() > limit) {
    violations.Add(field, "has " + std::to_string(words.size()) + " entries, at most " +
                              std::to_string(limit) + " are allowed: leave the rest out");
    return;  // else a huge list would be answered by as many violations
  }
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].empty()) {
      violations.Add(field + "[" + std::to_string(i) + "]", "is empty: leave the entry out");
    } else if (words[i].size() > kMaxWord || words[i].find('\0') != std::string::npos) {
      CheckText(words[i], kMaxWord, field + "[" + std::to_string(i) + "]", violations);
    }
  }
}

void CheckMediaUrl(const std::string& url, std::string_view path, std::string_view field,
                   Violations& violations) {
  if (!url.empty() && !IsHttpUrl(url)) {
    violations.Add(Join(path, field),
                   "is not an absolute http or https URL: correct it or leave it out");
  }
}

void FillCanonicalUrl(Item& item, std::string_view path, Violations& violations) {
  item.canonical_url.clear();
  if (item.url.empty()) return;
  StatusOr<std::string> canonical = CanonicalUrl(item.url);
  if (canonical.ok()) {
    item.canonical_url = *std::move(canonical);
    return;
  }
  for (const Violation& violation : ViolationsOf(canonical.status())) {
    violations.Add(Join(path, "url"), violation.description);
  }
}

void FillTimes(Item& item, Time now) {
  // Nothing arrives in the future, whatever the clock of a collector says.
  item.arrival_time = std::min(item.arrival_time.value_or(now), now);
  item.publish_time_assumed = !item.publish_time;
  if (!item.publish_time) item.publish_time = item.arrival_time;
  item.create_time = now;
}

}  // namespace

void CheckNamespace(std::string_view ns, std::string field, Violations& violations) {
  if (!IsSlug(ns)) {
    violations.Add(std::move(field), "is not a valid namespace: use 1 to 64 of a-z, 0-9 and -");
  }
}

void CheckText(std::string_view text, size_t limit, std::string_view field,
               Violations& violations) {
  // No more bytes than that are no more characters.
  if (text.size() > limit) {
    const size_t characters = CountCharacters(text);
    if (characters > limit) {
      violations.Add(std::string(field), "has " + std::to_string(characters) +
                                             " characters, at most " + std::to_string(limit) +
                                             " are allowed: shorten it");
    }
  }
  if (text.find('\0') != std::string_view::npos) {
    violations.Add(std::string(field),
                   "holds the character U+0000, which cannot be stored: remove it");
  }
}

void Accept(Item& item, Time now, std::string_view path, Violations& violations) {
  const size_t before = violations.size();
  if (item.ns.empty()) item.ns = kDefaultNamespace;
  if (!IsSlug(item.ns)) CheckNamespace(item.ns, Join(path, "namespace"), violations);
  CheckRequired(item, path, violations);
  for (const TextRule& rule : kTextRules) {
    const std::string& text = item.*rule.text;
    const bool suspect = text.size() > rule.limit || text.find('\0') != std::string::npos;
    if (suspect) CheckText(text, rule.limit, Join(path, rule.field), violations);
  }
  if (!IsLanguageTag(item.language)) {
    violations.Add(Join(path, "language"),
                   "is not a BCP 47 language tag: use letters, digits and -, such as ko or en-US");
  }
  CheckMediaUrl(item.channel_icon_url, path, "channel_icon_url", violations);
  CheckMediaUrl(item.image_url, path, "image_url", violations);
  CheckMediaUrl(item.video_url, path, "video_url", violations);
  CheckWords(item.source_categories, kMaxCategories, path, "source_categories", violations);
  CheckWords(item.keywords, kMaxKeywords, path, "keywords", violations);
  CheckWords(item.ai_tags, kMaxAiTags, path, "ai_tags", violations);
  if (item.url.size() <= 4 * kMaxUrl) FillCanonicalUrl(item, path, violations);
  if (violations.size() != before) return;
  if (item.language.empty()) item.language = GuessLanguage(item.title);
  FillTimes(item, now);
}

Hash128Value IdentityOf(const Item& item) {
  // Fields hold no U+0000, so the parts cannot run into each other.
  constexpr char kEnd = '\0';
  std::string key;
  key.reserve(item.ns.size() + item.channel.size() + item.external_id.size() +
              item.canonical_url.size() + 3);
  key += item.ns;
  key += kEnd;
  key += item.channel;
  key += kEnd;
  key += item.external_id.empty() ? 'u' : 'e';
  key += item.external_id.empty() ? item.canonical_url : item.external_id;
  return Hash128(key);
}

bool IsSame(const Item& a, const Item& b) {
  if (a.ns != b.ns || a.channel != b.channel || a.external_id != b.external_id) return false;
  return !a.external_id.empty() || a.canonical_url == b.canonical_url;
}

}  // namespace winnow::collector
