#include <algorithm>
#include <cmath>
#include <set>

#include "services/newsfeed/articles/article.h"
#include "services/platform/base/text.h"
#include "services/platform/base/url/url.h"

// Validate: every violation of an article at once, so that a caller can fix them at once.
namespace winnow::newsfeed {
namespace {

enum class Presence { kRequired, kOptional };

class Checker {
 public:
  Checker(std::string prefix, Violations& violations)
      : prefix_(std::move(prefix)), violations_(violations) {}

  void Add(const std::string& field, std::string description) {
    violations_.Add(prefix_ + field, std::move(description));
  }

  // Whether the text may be stored.
  bool Text(const std::string& field, std::string_view text, size_t limit, Presence presence) {
    if (text.empty()) {
      if (presence == Presence::kRequired) Add(field, "is required");
      return presence == Presence::kOptional;
    }
    if (text.find('\0') != std::string_view::npos) {
      Add(field, "holds a NUL character (U+0000), which no text may; remove it");
      return false;
    }
    // A character has at least one byte, so most texts need no count.
    if (text.size() <= limit) return true;
    const size_t characters = CountCharacters(text);
    if (characters <= limit) return true;
    Add(field, "has " + std::to_string(characters) + " characters, the limit is " +
                   std::to_string(limit) + "; shorten it");
    return false;
  }

  void Tags(const std::string& field, const std::vector<std::string>& tags) {
    if (tags.size() > kMaxTags) {
      Add(field, "has " + std::to_string(tags.size()) + " entries, the limit is " +
                     std::to_string(kMaxTags) + "; send fewer");
    }
    for (size_t i = 0; i < std::min(tags.size(), kMaxTags); ++i) {
      Text(field + "[" + std::to_string(i) + "]", tags[i], kMaxTag, Presence::kRequired);
    }
  }

  // What apps put into a page must not be able to run there ("javascript:...").
  void Link(const std::string& field, std::string_view url) {
    if (!Text(field, url, kMaxUrl, Presence::kOptional) || url.empty()) return;
    if (!StartsWithScheme(url, "http://") && !StartsWithScheme(url, "https://")) {
      Add(field, "must be an absolute http:// or https:// URL");
    }
  }

 private:
  static bool StartsWithScheme(std::string_view url, std::string_view scheme) {
    return url.size() > scheme.size() &&
           std::equal(scheme.begin(), scheme.end(), url.begin(), [](char want, char have) {
             return want == (have | ('A' <= have && have <= 'Z' ? 0x20 : 0));
           });
  }

  std::string prefix_;
  Violations& violations_;
};

void CheckUrl(Article& article, UrlRule rule, Checker& check) {
  article.canonical_url.clear();
  const auto presence = rule == UrlRule::kRequired ? Presence::kRequired : Presence::kOptional;
  if (!check.Text("url", article.url, kMaxUrl, presence) || article.url.empty()) return;
  auto canonical = CanonicalUrl(article.url);
  if (canonical.ok()) {
    article.canonical_url = *std::move(canonical);
    return;
  }
  for (const Violation& violation : ViolationsOf(canonical.status())) {
    check.Add("url", violation.description);
  }
}

void CheckCategories(const std::vector<CategoryLabel>& labels, Checker& check) {
  if (labels.size() > kMaxCategories) {
    check.Add("categories", "has " + std::to_string(labels.size()) + " entries, the limit is " +
                                std::to_string(kMaxCategories) + "; send fewer");
    return;
  }
  std::set<std::string_view> known;
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::string field = "categories[" + std::to_string(i) + "].";
    const CategoryLabel& label = labels[i];
    if (!IsSlug(label.id)) {
      check.Add(field + "category_id",
                "must be the id of a category: [a-z0-9-], 1 to 64 characters");
    } else if (!known.insert(label.id).second) {
      check.Add(field + "category_id", "repeats \"" + label.id + "\"; name each category once");
    }
    check.Text(field + "rule", label.rule, kMaxRule, Presence::kOptional);
    if (!(label.score >= 0 && label.score <= 1)) {
      check.Add(field + "score", "must be within 0 and 1");
    }
  }
}

void CheckLanguage(std::string_view language, Checker& check) {
  if (!check.Text("language", language, kMaxLanguage, Presence::kOptional)) return;
  const bool plain = std::all_of(language.begin(), language.end(), [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '-';
  });
  if (!plain) check.Add("language", "must be a BCP 47 language such as \"ko\" or \"en-US\"");
}

}  // namespace

bool IsArticleId(std::string_view id) {
  return !id.empty() && id.size() <= 128 && std::all_of(id.begin(), id.end(), [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '.' ||
           c == '_' || c == ':' || c == '-';
  });
}

void Validate(Article& article, UrlRule rule, const std::string& prefix, Violations& violations) {
  Checker check(prefix, violations);
  if (!IsSlug(article.ns)) check.Add("namespace", "must be [a-z0-9-], 1 to 64 characters");
  if (!IsArticleId(article.id)) check.Add("id", "must be [A-Za-z0-9._:-], 1 to 128 characters");
  CheckUrl(article, rule, check);
  check.Text("title", article.title, kMaxTitle, Presence::kRequired);
  check.Text("snippet", article.snippet, kMaxSnippet, Presence::kOptional);
  check.Text("source", article.source, kMaxSource, Presence::kRequired);
  check.Text("source_name", article.source_name, kMaxSourceName, Presence::kOptional);
  check.Link("source_icon_url", article.source_icon_url);
  check.Link("thumbnail_url", article.thumbnail_url);
  check.Link("video_url", article.video_url);
  CheckCategories(article.categories, check);
  check.Tags("keywords", article.keywords);
  check.Tags("ai_tags", article.ai_tags);
  CheckLanguage(article.language, check);
}

}  // namespace winnow::newsfeed
