#include "services/collector/sources/naver.h"

#include <algorithm>

#include "services/collector/sources/dates.h"
#include "services/collector/sources/json_fields.h"
#include "services/platform/base/text.h"

namespace winnow::collector {
namespace {

constexpr int kKst = 9 * 60;

constexpr NaverRules kRules[] = {
    {"https://openapi.naver.com/v1/search/news.json", "X-Naver-Client-Id", "X-Naver-Client-Secret"},
    {"https://naverapihub.apigw.ntruss.com/search/v1/news", "X-NCP-APIGW-API-KEY-ID",
     "X-NCP-APIGW-API-KEY"},
};

struct ErrorRow {
  std::string_view code;
  Outcome outcome;
  Remedy remedy;
};

// By the code, whatever the HTTP status is.
constexpr ErrorRow kErrors[] = {
    {"SE01", Outcome::kBlocked, Remedy::kNever},  // bad query
    {"SE02", Outcome::kBlocked, Remedy::kNever},  // bad display
    {"SE03", Outcome::kBlocked, Remedy::kNever},  // bad start
    {"SE04", Outcome::kBlocked, Remedy::kNever},  // bad sort
    {"SE05", Outcome::kBlocked, Remedy::kNever},  // no such API
    {"SE06", Outcome::kBlocked, Remedy::kNever},  // bad encoding of the query
    {"SE99", Outcome::kUpstream, Remedy::kLater}, {"024", Outcome::kAuth, Remedy::kOperator},
    {"012", Outcome::kRate, Remedy::kSoon},       {"010", Outcome::kQuotaDay, Remedy::kNextDay},
};

// Where the code is unknown.
VendorError ByHttpStatus(int status) {
  VendorError error{Outcome::kUpstream, Remedy::kLater, "HTTP " + std::to_string(status)};
  if (status == 401) {
    error.outcome = Outcome::kAuth;
    error.remedy = Remedy::kOperator;
  } else if (status == 429) {
    error.outcome = Outcome::kRate;
    error.remedy = Remedy::kSoon;
  } else if (status == 400 || status == 403 || status == 404) {
    error.outcome = Outcome::kBlocked;
    error.remedy = Remedy::kNever;
  }
  return error;
}

VendorError ToError(int status, const std::string& code) {
  const auto* row = std::find_if(std::begin(kErrors), std::end(kErrors),
                                 [&](const ErrorRow& one) { return one.code == code; });
  if (row != std::end(kErrors)) return {row->outcome, row->remedy, std::string(row->code)};
  VendorError error = ByHttpStatus(status);
  if (!code.empty()) error.code = PrintableCode(code);
  return error;
}

struct Article {
  std::string title, original, link, description, date;
};

Article ReadArticle(JsonReader& in) {
  Article article;
  in.ReadObject([&](std::string_view name) {
    if (name == "title") {
      article.title = ReadText(in);
    } else if (name == "originallink") {
      article.original = ReadText(in);
    } else if (name == "link") {
      article.link = ReadText(in);
    } else if (name == "description") {
      article.description = ReadText(in);
    } else if (name == "pubDate") {
      article.date = ReadText(in);
    } else {
      in.Skip();
    }
    return in.ok();
  });
  return article;
}

void AddArticle(const Article& article, Page& page) {
  Item item;
  item.title = NaverText(article.title);
  // An empty originallink is common, and so is one that is not an address.
  for (const std::string& url : {article.original, article.link}) {
    item.channel = ChannelOf(url);
    item.url = url;
    if (!item.channel.empty()) break;
  }
  if (item.channel.empty() || item.title.empty()) {
    ++page.refused;
    return;
  }
  item.channel_name = item.channel;
  item.snippet = LeadOf(NaverText(article.description), kMaxLead);
  item.publish_time = ParseDate(article.date, kKst);
  page.items.push_back(std::move(item));
}

struct Envelope {
  VendorAnswer answer;
  bool has_items = false;
  bool has_error = false;
  std::string code;
};

void ReadEnvelope(JsonReader& in, Envelope& out, bool nested);

void ReadItems(JsonReader& in, Envelope& out) {
  if (in.Peek() != JsonReader::Kind::kArray) {
    in.Skip();
    return;
  }
  out.has_items = true;
  in.ReadArray([&] {
    if (in.Peek() == JsonReader::Kind::kObject) {
      const Article article = ReadArticle(in);
      if (in.ok()) AddArticle(article, out.answer.page);
    } else {
      ++out.answer.page.refused;
      in.Skip();
    }
    return in.ok();
  });
}

void ReadEnvelope(JsonReader& in, Envelope& out, bool nested) {
  in.ReadObject([&](std::string_view name) {
    if (name == "items" && !nested) {
      ReadItems(in, out);
    } else if (name == "errorCode") {
      out.code = ReadText(in);
      out.has_error = true;
    } else if (name == "error" && !nested) {
      out.has_error = true;
      if (in.Peek() == JsonReader::Kind::kObject) {
        ReadEnvelope(in, out, true);
      } else {
        in.Skip();
      }
    } else {
      in.Skip();
    }
    return in.ok();
  });
}

}  // namespace

const NaverRules& RulesOf(NaverProfile profile) { return kRules[static_cast<size_t>(profile)]; }

std::string NaverUrl(std::string_view base_url, const NaverQuery& query) {
  return std::string(base_url) + "?query=" + EncodeQuery(query.query) +
         "&display=" + std::to_string(query.display) + "&start=" + std::to_string(query.start) +
         "&sort=" + (query.by_date ? "date" : "sim");
}

std::string NaverText(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    const bool open = rest.starts_with("<b>") || rest.starts_with("<B>");
    const bool close = rest.starts_with("</b>") || rest.starts_with("</B>");
    if (open || close) {
      i += open ? 3 : 4;
    } else {
      plain += text[i++];
    }
  }
  // Naver escapes what outlets send, which some of them have escaped before.
  return CollapseWhitespace(UnescapeHtml(UnescapeHtml(plain)));
}

VendorAnswer ReadNaver(int http_status, std::string_view body) {
  JsonReader in(body);
  Envelope envelope;
  if (in.Peek() == JsonReader::Kind::kObject) ReadEnvelope(in, envelope, false);
  const bool whole = in.ok() && in.Peek() == JsonReader::Kind::kEnd;
  if (envelope.has_error || http_status != 200) {
    return {.page = {}, .error = ToError(http_status, envelope.code)};
  }
  if (!whole || !envelope.has_items) {
    return {.page = {}, .error = VendorError{Outcome::kParse, Remedy::kLater, "no answer"}};
  }
  return std::move(envelope.answer);
}

}  // namespace winnow::collector
