#include "services/newsfeed/articles/article_sql.h"

#include <array>
#include <charconv>
#include <stdexcept>

#include "services/newsfeed/articles/category.h"

namespace winnow::newsfeed {
namespace {

using pg::Array;

// Reads a row's columns one after the other.
class Reader {
 public:
  Reader(const pqxx::row& row, int first) : row_(row), next_(first) {}

  std::string Text() {
    const pqxx::field field = Next();
    return std::string(field.c_str(), field.size());
  }
  int64_t Number() { return Next().as<int64_t>(); }
  bool Flag() { return Next().c_str()[0] == 't'; }
  Time Instant() { return pg::ToTime(Next()); }
  std::optional<Time> OptionalInstant() { return pg::ToOptionalTime(Next()); }
  Millis SortTime() { return ToMillis(Instant()); }
  std::vector<std::string> Texts() {
    const pqxx::field field = Next();
    if (field.size() == 2) return {};  // "{}", as most are
    return pg::ToTexts(field);
  }
  Hash128Value Hash() { return FromUuid(Next()); }

 private:
  pqxx::field Next() { return row_[static_cast<pqxx::row::size_type>(next_++)]; }

  const pqxx::row& row_;
  int next_;
};

double ToScore(const std::string& text) {
  double score = 0;
  std::from_chars(text.data(), text.data() + text.size(), score);
  return score;
}

// Rows from before spans were kept have none.
std::vector<CategoryLabel> ToLabels(std::vector<std::string> ids, std::vector<std::string> rules,
                                    const std::vector<std::string>& scores,
                                    std::vector<std::string> spans) {
  spans.resize(ids.size());
  std::vector<CategoryLabel> labels;
  labels.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    labels.push_back(
        {std::move(ids[i]), std::move(rules.at(i)), ToScore(scores.at(i)), std::move(spans[i])});
  }
  return labels;
}

template <class Items, class AddItem>
std::string Literal(const Items& items, AddItem add) {
  Array array;
  for (const auto& item : items) add(array, item);
  return array.ToString();
}

std::string Literal(const std::vector<std::string>& texts) {
  return Literal(texts, [](Array& array, const std::string& text) { array.Add(text); });
}

using Labels = std::vector<CategoryLabel>;
std::string Ids(const Labels& labels) {
  return Literal(labels, [](Array& array, const CategoryLabel& label) { array.Add(label.id); });
}
std::string Rules(const Labels& labels) {
  return Literal(labels, [](Array& array, const CategoryLabel& label) { array.Add(label.rule); });
}
std::string Scores(const Labels& labels) {
  return Literal(labels, [](Array& array, const CategoryLabel& label) { array.Add(label.score); });
}

std::string Spans(const Labels& labels) {
  return Literal(labels, [](Array& array, const CategoryLabel& label) { array.Add(label.span); });
}

// A column that is written: its type, and how an article fills it. Columns that are arrays
// themselves travel as text, because unnest would flatten them.
struct Column {
  const char* name;
  const char* type;
  void (*add)(Array& array, const StoredArticle& article);
};

using A = const StoredArticle&;
constexpr Column kIdentity[] = {
    {"namespace", "text", [](Array& out, A a) { out.Add(a.content.ns); }},
    {"id", "text", [](Array& out, A a) { out.Add(a.content.id); }},
    {"number", "bigint", [](Array& out, A a) { out.Add(a.number); }},
    {"published_at", "timestamptz", [](Array& out, A a) { out.Add(ToTime(a.publish_time)); }},
    {"raw_published_at", "timestamptz", [](Array& out, A a) { out.Add(a.content.publish_time); }},
    {"published_at_clamped", "boolean", [](Array& out, A a) { out.Add(a.publish_time_clamped); }},
    {"created_at", "timestamptz", [](Array& out, A a) { out.Add(a.create_time); }},
};
constexpr Column kContent[] = {
    {"url", "text", [](Array& out, A a) { out.Add(a.content.url); }},
    {"url_key", "uuid", [](Array& out, A a) { out.Add(UrlKey(a.content.canonical_url)); }},
    {"canonical_url", "text", [](Array& out, A a) { out.Add(a.content.canonical_url); }},
    {"title", "text", [](Array& out, A a) { out.Add(a.content.title); }},
    {"snippet", "text", [](Array& out, A a) { out.Add(a.content.snippet); }},
    {"source", "text", [](Array& out, A a) { out.Add(a.content.source); }},
    {"source_name", "text", [](Array& out, A a) { out.Add(a.content.source_name); }},
    {"source_icon_url", "text", [](Array& out, A a) { out.Add(a.content.source_icon_url); }},
    {"thumbnail_url", "text", [](Array& out, A a) { out.Add(a.content.thumbnail_url); }},
    {"video_url", "text", [](Array& out, A a) { out.Add(a.content.video_url); }},
    {"category", "text",
     [](Array& out, A a) {
       out.Add(a.content.categories.empty() ? kUncategorizedFeed
                                            : std::string_view(a.content.categories[0].id));
     }},
    {"categories", "text[]", [](Array& out, A a) { out.Add(Ids(a.content.categories)); }},
    {"category_rules", "text[]", [](Array& out, A a) { out.Add(Rules(a.content.categories)); }},
    {"category_scores", "double precision[]",
     [](Array& out, A a) { out.Add(Scores(a.content.categories)); }},
    {"category_spans", "text[]", [](Array& out, A a) { out.Add(Spans(a.content.categories)); }},
    {"keywords", "text[]", [](Array& out, A a) { out.Add(Literal(a.content.keywords)); }},
    {"ai_tag", "text",
     [](Array& out, A a) {
       a.content.ai_tags.empty() ? out.AddNull() : out.Add(a.content.ai_tags[0]);
     }},
    {"ai_tags", "text[]", [](Array& out, A a) { out.Add(Literal(a.content.ai_tags)); }},
    {"language", "text", [](Array& out, A a) { out.Add(a.content.language); }},
    {"first_published_at", "timestamptz",
     [](Array& out, A a) { out.Add(ToTime(a.first_publish_time)); }},
    {"updated_at", "timestamptz", [](Array& out, A a) { out.Add(a.update_time); }},
    {"revision", "bigint", [](Array& out, A a) { out.Add(a.revision); }},
    {"sent_hash", "uuid", [](Array& out, A a) { out.Add(ToUuid(a.sent_hash)); }},
    {"citation_count", "bigint", [](Array& out, A a) { out.Add(a.citation_count); }},
    {"citation_channels", "text[]", [](Array& out, A a) { out.Add(Literal(a.citation_channels)); }},
};

bool IsArray(const Column& column) { return std::string_view(column.type).ends_with("[]"); }

std::string Join(std::span<const Column> columns, const std::string& separator,
                 const std::function<std::string(const Column&)>& write) {
  std::string text;
  for (const Column& column : columns) {
    if (!text.empty()) text += separator;
    text += write(column);
  }
  return text;
}

std::vector<Column> Written() {
  std::vector<Column> columns(std::begin(kIdentity), std::end(kIdentity));
  columns.insert(columns.end(), std::begin(kContent), std::end(kContent));
  return columns;
}

// "unnest($1::text[], $2::bigint[], ...) AS s (namespace, id, ...)"
std::string Source(std::span<const Column> columns) {
  int parameter = 0;
  const auto array = [&](const Column& column) {
    return "$" + std::to_string(++parameter) +
           (IsArray(column) ? "::text[]" : "::" + std::string(column.type) + "[]");
  };
  const auto name = [](const Column& column) { return std::string(column.name); };
  return "unnest(" + Join(columns, ", ", array) + ") AS s (" + Join(columns, ", ", name) + ")";
}

std::string Value(const Column& column) {
  return "s." + std::string(column.name) + (IsArray(column) ? "::" + std::string(column.type) : "");
}

std::string InsertSql() {
  const std::vector<Column> columns = Written();
  const auto name = [](const Column& column) { return std::string(column.name); };
  return "INSERT INTO newsfeed.news_articles (" + Join(columns, ", ", name) + ") SELECT " +
         Join(columns, ", ", Value) + " FROM " + Source(columns);
}

std::string UpdateSql() {
  const auto set = [](const Column& column) {
    return std::string(column.name) + " = " + Value(column);
  };
  return "UPDATE newsfeed.news_articles a SET " + Join(kContent, ", ", set) + " FROM " +
         Source(Written()) + " WHERE a.namespace = s.namespace AND a.id = s.id";
}

pg::Parameters ToParameters(std::span<const StoredArticle> articles) {
  pg::Parameters parameters;
  for (const Column& column : Written()) {
    Array array;
    for (const StoredArticle& article : articles) column.add(array, article);
    parameters.Add(array);
  }
  return parameters;
}

}  // namespace

const char kContentColumns[] =
    "a.url, a.title, a.snippet, a.source, a.source_name, a.source_icon_url, a.thumbnail_url, "
    "a.video_url, a.categories, a.category_rules, a.category_scores, a.category_spans, a.keywords, "
    "a.ai_tags, "
    "a.language, a.raw_published_at, a.first_published_at, a.published_at_clamped, a.created_at, "
    "a.updated_at, a.revision, a.citation_count, a.citation_channels";

const std::string& AllColumns() {
  static const std::string columns =
      "a.namespace, a.published_at, a.id, a.number, a.canonical_url, a.deleted_at, a.sent_hash, " +
      std::string(kContentColumns);
  return columns;
}

StoredArticle ReadContent(const pqxx::row& row, int first, const std::string& ns, FeedKey key) {
  Reader read(row, first);
  StoredArticle article;
  Article& content = article.content;
  content.ns = ns;
  content.id = std::move(key.id);
  content.url = read.Text();
  content.title = read.Text();
  content.snippet = read.Text();
  content.source = read.Text();
  content.source_name = read.Text();
  content.source_icon_url = read.Text();
  content.thumbnail_url = read.Text();
  content.video_url = read.Text();
  std::vector<std::string> ids = read.Texts();
  std::vector<std::string> rules = read.Texts();
  const std::vector<std::string> scores = read.Texts();
  content.categories = ToLabels(std::move(ids), std::move(rules), scores, read.Texts());
  content.keywords = read.Texts();
  content.ai_tags = read.Texts();
  content.language = read.Text();
  content.publish_time = read.Instant();
  article.publish_time = key.publish_time;
  article.first_publish_time = read.SortTime();
  article.publish_time_clamped = read.Flag();
  article.create_time = read.Instant();
  article.update_time = read.Instant();
  article.revision = read.Number();
  article.citation_count = read.Number();
  article.citation_channels = read.Texts();
  return article;
}

StoredArticle ReadAllColumns(const pqxx::row& row) {
  Reader read(row, 0);
  const std::string ns = read.Text();
  const Millis publish_time = read.SortTime();
  FeedKey key{publish_time, read.Text()};
  const int64_t number = read.Number();
  std::string canonical_url = read.Text();
  const std::optional<Time> delete_time = read.OptionalInstant();
  const Hash128Value sent_hash = read.Hash();
  StoredArticle article = ReadContent(row, 7, ns, std::move(key));
  article.number = number;
  article.content.canonical_url = std::move(canonical_url);
  article.delete_time = delete_time;
  article.sent_hash = sent_hash;
  return article;
}

void InsertArticles(pg::Session& session, std::span<const StoredArticle> articles) {
  static const std::string sql = InsertSql();
  static const pg::Statement statement{"newsfeed.insert_articles", sql.c_str()};
  if (!articles.empty()) session.Run(statement, ToParameters(articles));
}

void UpdateArticles(pg::Session& session, std::span<const StoredArticle> articles) {
  static const std::string sql = UpdateSql();
  static const pg::Statement statement{"newsfeed.update_articles", sql.c_str()};
  if (!articles.empty()) session.Run(statement, ToParameters(articles));
}

std::string ToUuid(const Hash128Value& hash) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(32, '0');
  for (int i = 0; i < 16; ++i) {
    text[static_cast<size_t>(i)] = kDigits[(hash.high >> (60 - 4 * i)) & 0xF];
    text[static_cast<size_t>(16 + i)] = kDigits[(hash.low >> (60 - 4 * i)) & 0xF];
  }
  return text;
}

Hash128Value FromUuid(const pqxx::field& field) {
  std::string hex;
  for (const char c : std::string_view(field.c_str(), field.size())) {
    if (c != '-') hex += c;
  }
  if (hex.size() != 32) throw std::invalid_argument("not a uuid");
  Hash128Value hash;
  std::from_chars(hex.data(), hex.data() + 16, hash.high, 16);
  std::from_chars(hex.data() + 16, hex.data() + 32, hash.low, 16);
  return hash;
}

std::optional<std::string> UrlKey(const std::string& canonical_url) {
  if (canonical_url.empty()) return std::nullopt;
  return ToUuid(Hash128(canonical_url));
}

Time ToTime(Millis time) {
  return Time(std::chrono::duration_cast<Micros>(time.time_since_epoch()));
}

}  // namespace winnow::newsfeed
