#include "services/collector/sources/newsdata.h"

#include <algorithm>

#include "services/collector/sources/dates.h"
#include "services/collector/sources/json_fields.h"
#include "services/platform/base/ascii.h"
#include "services/platform/base/text.h"

namespace winnow::collector {
namespace {

constexpr std::string_view kNotInPlan = "ONLY AVAILABLE IN";

struct Language {
  std::string_view name;
  std::string_view tag;
};
constexpr Language kLanguages[] = {
    {"korean", "ko"},  {"english", "en"},    {"japanese", "ja"}, {"chinese", "zh"},
    {"french", "fr"},  {"german", "de"},     {"spanish", "es"},  {"russian", "ru"},
    {"italian", "it"}, {"portuguese", "pt"}, {"arabic", "ar"},   {"vietnamese", "vi"},
};

struct ErrorRow {
  int status;
  Outcome outcome;
  Remedy remedy;
};
constexpr ErrorRow kErrors[] = {
    {400, Outcome::kBlocked, Remedy::kNever}, {401, Outcome::kAuth, Remedy::kOperator},
    {403, Outcome::kBlocked, Remedy::kNever}, {404, Outcome::kBlocked, Remedy::kNever},
    {409, Outcome::kBlocked, Remedy::kNever}, {415, Outcome::kBlocked, Remedy::kNever},
    {422, Outcome::kBlocked, Remedy::kNever}, {429, Outcome::kRate, Remedy::kLater},
};

std::string TextOf(std::string text) {
  if (text.starts_with(kNotInPlan)) text.clear();
  return text;
}

std::vector<std::string> WordsOf(std::vector<std::string> words) {
  std::erase_if(words, [](const std::string& word) { return word.starts_with(kNotInPlan); });
  return words;
}

std::string LanguageTag(std::string name) {
  name = LowerAscii(name);
  const auto* found = std::find_if(std::begin(kLanguages), std::end(kLanguages),
                                   [&](const Language& one) { return one.name == name; });
  if (found != std::end(kLanguages)) return std::string(found->tag);
  return name.size() == 2 && name[0] >= 'a' && name[1] >= 'a' && name[0] <= 'z' && name[1] <= 'z'
             ? name
             : std::string();
}

struct Article {
  std::string id, title, link, description, date, image, video, source_id, source_name, icon,
      language;
  std::vector<std::string> keywords, categories, tags;
};

// Which text of an article a field is.
struct TextField {
  std::string_view name;
  std::string Article::*text;
};
constexpr TextField kTexts[] = {
    {"article_id", &Article::id},
    {"title", &Article::title},
    {"link", &Article::link},
    {"description", &Article::description},
    {"pubDate", &Article::date},
    {"image_url", &Article::image},
    {"video_url", &Article::video},
    {"source_id", &Article::source_id},
    {"source_name", &Article::source_name},
    {"source_icon", &Article::icon},
    {"language", &Article::language},
};
struct WordsField {
  std::string_view name;
  std::vector<std::string> Article::*words;
};
constexpr WordsField kWords[] = {{"keywords", &Article::keywords},
                                 {"category", &Article::categories},
                                 {"ai_tag", &Article::tags}};

Article ReadArticle(JsonReader& in) {
  Article article;
  in.ReadObject([&](std::string_view name) {
    for (const TextField& field : kTexts) {
      if (field.name != name) continue;
      article.*field.text = TextOf(ReadText(in));
      return in.ok();
    }
    for (const WordsField& field : kWords) {
      if (field.name != name) continue;
      article.*field.words = WordsOf(ReadTexts(in));
      return in.ok();
    }
    return in.Skip();
  });
  return article;
}

void AddArticle(const Article& article, Page& page) {
  Item item;
  item.title = CollapseWhitespace(UnescapeHtmlLayers(article.title));
  item.url = article.link;
  item.channel = ChannelOf(article.link);
  // Without a usable address the vendor's own id is the identity.
  if (item.channel.empty()) {
    item.url.clear();
    item.external_id = article.id;
    item.channel = article.source_id;
  }
  const bool known = !item.url.empty() || !item.external_id.empty();
  if (!known || item.channel.empty() || item.title.empty()) {
    ++page.refused;
    return;
  }
  item.channel_name = LeadOf(article.source_name.empty() ? article.source_id : article.source_name,
                             kMaxChannelName);
  item.snippet = LeadOf(UnescapeHtmlLayers(StripHtml(article.description)), kMaxLead);
  item.language = LanguageTag(article.language);
  if (!ChannelOf(article.icon).empty()) item.channel_icon_url = article.icon;
  if (!ChannelOf(article.image).empty()) item.image_url = article.image;
  if (!ChannelOf(article.video).empty()) item.video_url = article.video;
  item.publish_time = ParseDate(article.date);
  item.source_categories = TakeWords(article.categories, kMaxCategories);
  item.keywords = TakeWords(article.keywords, kMaxKeywords);
  item.ai_tags = TakeWords(article.tags, kMaxAiTags);
  page.items.push_back(std::move(item));
}

struct Envelope {
  Page page;
  bool has_results = false;
  bool failed = false;
  std::string code;
};

// A list of articles, or {message, code} of an error.
void ReadResults(JsonReader& in, Envelope& out) {
  if (in.Peek() == JsonReader::Kind::kArray) {
    out.has_results = true;
    in.ReadArray([&] {
      if (in.Peek() == JsonReader::Kind::kObject) {
        const Article article = ReadArticle(in);
        if (in.ok()) AddArticle(article, out.page);
      } else {
        ++out.page.refused;
        in.Skip();
      }
      return in.ok();
    });
  } else if (in.Peek() == JsonReader::Kind::kObject) {
    in.ReadObject([&](std::string_view name) {
      if (name != "code") return in.Skip();
      out.code = ReadText(in);
      return in.ok();
    });
  } else {
    out.has_results = in.Peek() == JsonReader::Kind::kNull;  // nothing was found
    in.Skip();
  }
}

void ReadEnvelope(JsonReader& in, Envelope& out) {
  in.ReadObject([&](std::string_view name) {
    if (name == "status") {
      out.failed = ReadText(in) == "error";
    } else if (name == "results") {
      ReadResults(in, out);
    } else if (name == "nextPage") {
      out.page.next = ReadText(in);
    } else if (name == "code") {
      out.code = ReadText(in);
    } else {
      in.Skip();
    }
    return in.ok();
  });
}

VendorError ToError(int status, const std::string& code) {
  VendorError error{Outcome::kUpstream, Remedy::kLater, "HTTP " + std::to_string(status)};
  const auto* row = std::find_if(std::begin(kErrors), std::end(kErrors),
                                 [&](const ErrorRow& one) { return one.status == status; });
  if (row != std::end(kErrors)) {
    error.outcome = row->outcome;
    error.remedy = row->remedy;
  }
  if (code == "Unauthorized" || code == "AccessDenied") {
    error.outcome = Outcome::kAuth;
    error.remedy = Remedy::kOperator;
  } else if (code == "ApiLimitExceeded" || code == "RateLimitExceeded") {
    error.outcome = Outcome::kRate;
    error.remedy = Remedy::kLater;
  }
  if (!code.empty()) error.code = PrintableCode(code);
  return error;
}

}  // namespace

std::string NewsDataUrl(std::string_view base_url, const NewsDataQuery& query) {
  std::string url(base_url);
  url += "?size=" + std::to_string(query.size) + "&removeduplicate=1";
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) url += "&" + std::string(name) + "=" + EncodeQuery(value);
  };
  add("q", query.query);
  add("country", query.country);
  add("language", query.language);
  add("category", query.category);
  add("timeframe", query.timeframe);
  add("page", query.page);
  return url;
}

VendorAnswer ReadNewsData(int http_status, std::string_view body) {
  JsonReader in(body);
  Envelope envelope;
  if (in.Peek() == JsonReader::Kind::kObject) ReadEnvelope(in, envelope);
  const bool whole = in.ok() && in.Peek() == JsonReader::Kind::kEnd;
  if (envelope.failed || http_status != 200) {
    return {.page = {}, .error = ToError(http_status, envelope.code)};
  }
  if (!whole || !envelope.has_results) {
    return {.page = {}, .error = VendorError{Outcome::kParse, Remedy::kLater, "no answer"}};
  }
  return {.page = std::move(envelope.page), .error = {}};
}

}  // namespace winnow::collector
