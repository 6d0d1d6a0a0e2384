#include "services/classification/comments/comment_parser.h"

#include <charconv>

#include "services/classification/comments/csv_reader.h"
#include "services/platform/base/format/json_reader.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/text.h"

namespace winnow::classification {
namespace {

// Digits at [at, at + count), or -1.
int Digits(std::string_view text, size_t at, size_t count) {
  if (text.size() < at + count) return -1;
  int number = 0;
  for (size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    number = number * 10 + (text[i] - '0');
  }
  return number;
}

std::optional<Time> FromSeconds(std::string_view text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr double kYear2100 = 4102444800;
  if (error != std::errc() || end != text.data() + text.size() || seconds < 1 ||
      seconds > kYear2100) {
    return std::nullopt;
  }
  return Time(Micros(static_cast<int64_t>(seconds * 1e6)));
}

using Kind = JsonReader::Kind;

// More than who shows it cuts it to, at a character.
constexpr size_t kIdShown = 132;

// What an object of any shape may say, before it is known which shape it is.
struct Fields {
  std::string id;         // id, comment_id, cid
  std::string parent_id;  // parentId
  std::string text;       // textOriginal, content, text
  std::string display;    // textDisplay: HTML
  std::string published;
  std::string updated;
  bool has_text = false;
  Shape shape = Shape::kNone;
};

class Parser {
 public:
  Parser(const std::string& field, FunctionRef<Status(Comment)> take)
      : field_(field), take_(take) {}

  StatusOr<ParseReport> Run(std::string_view bytes) {
    if (bytes.substr(0, 3) == "\xEF\xBB\xBF") bytes.remove_prefix(3);
    const size_t first = bytes.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return NoShape("is empty");
    if (bytes[first] != '{' && bytes[first] != '[') {
      WINNOW_RETURN_IF_ERROR(ReadCsv(bytes.substr(first)));
    } else {
      WINNOW_RETURN_IF_ERROR(ReadJson(bytes));
    }
    return std::move(report_);
  }

 private:
  Status NoShape(const std::string& why) const {
    return InvalidField(field_, why +
                                    "; known are a YouTube commentThreads page or list, "
                                    "[{comment_id,content,replies}], JSONL {cid,text}, "
                                    "{id,videoId,parentId,text}, CSV COMMENT_ID,AUTHOR,DATE,"
                                    "CONTENT,CLASS");
  }

  void Saw(Shape shape) {
    if (report_.shape == Shape::kNone) report_.shape = shape;
  }

  void Skip(const std::string& id, std::string why) {
    ++report_.skipped_count;
    if (report_.skipped.size() < 100) {
      report_.skipped.push_back({report_.comments, id.substr(0, kIdShown), std::move(why)});
    }
    ++report_.comments;
  }

  Status Take(Fields fields) {
    Saw(fields.shape);
    if (!IsCommentId(fields.id)) {
      Skip(fields.id, fields.id.empty()
                          ? "has no id"
                          : "its id is not [A-Za-z0-9_.-]{1,128}, or is the reserved _metadata");
      return OkStatus();
    }
    std::string text =
        !fields.text.empty() ? std::move(fields.text) : UnescapeHtml(StripHtml(fields.display));
    if (text.empty()) {
      Skip(fields.id, "has no text");
      return OkStatus();
    }
    if (text.size() > kMaxCommentBytes || text.find('\0') != std::string::npos) {
      Skip(fields.id, "its text is longer than 80,000 bytes or holds a NUL");
      return OkStatus();
    }
    Comment comment;
    comment.content_hash = Hash64(text);
    comment.text = std::move(text);
    const size_t dot = fields.id.rfind('.');
    if (dot != std::string::npos && dot > 0 && dot + 1 < fields.id.size()) {
      comment.alias = fields.id.substr(dot + 1);
      if (fields.parent_id.empty()) fields.parent_id = fields.id.substr(0, dot);
    }
    comment.id = std::move(fields.id);
    comment.parent_id = IsCommentId(fields.parent_id) ? std::move(fields.parent_id) : "";
    comment.publish_time = ParseRawTime(fields.published);
    comment.update_time = ParseRawTime(fields.updated);
    ++report_.comments;
    return take_(std::move(comment));
  }

  bool Try(Status status) {
    if (status.ok()) return true;
    taken_ = std::move(status);
    return false;
  }

  Status ReadJson(std::string_view bytes) {
    JsonReader json(bytes);
    while (json.Peek() != Kind::kEnd) {
      const Kind kind = json.Peek();
      const bool read = kind == Kind::kArray    ? json.ReadArray([&] { return ReadElement(json); })
                        : kind == Kind::kObject ? ReadElement(json)
                                                : json.Fail("expected an object or a list");
      WINNOW_RETURN_IF_ERROR(taken_);
      if (!read) return NoShape("is broken at " + json.error());
    }
    return report_.shape == Shape::kNone && report_.comments == 0 && !saw_page_
               ? NoShape("contains no comment")
               : OkStatus();
  }

  // A page, a thread, or a comment of any shape; also a list of these.
  bool ReadElement(JsonReader& json) {
    if (json.Peek() == Kind::kArray) return json.ReadArray([&] { return ReadElement(json); });
    if (json.Peek() != Kind::kObject) return json.Fail("expected an object");
    Fields fields;
    std::string thread_parent;
    int64_t inline_replies = 0;
    int64_t total_replies = -1;
    bool is_thread = false;
    bool is_page = false;
    std::vector<Fields> replies;
    const bool read = json.ReadObject([&](std::string_view name) {
      if (name == "items") {
        is_page = saw_page_ = true;
        return json.ReadArray([&] { return ReadElement(json); });
      }
      if (name == "snippet") {
        return ReadSnippet(json, fields, is_thread, total_replies);
      }
      if (name == "topLevelComment") {
        is_thread = true;
        return ReadComment(json, fields, Shape::kYouTubeApi);
      }
      if (name == "totalReplyCount") return ReadCount(json, total_replies);
      if (name == "replies") return ReadReplies(json, replies, inline_replies);
      return ReadField(json, name, fields, is_thread);
    });
    if (!read) return false;
    if (is_page) return true;
    if (is_thread) fields.shape = Shape::kYouTubeApi;
    if (fields.shape == Shape::kNone) fields.shape = Shape::kFlat;
    if (fields.id.empty() && !fields.has_text && report_.shape == Shape::kNone) {
      return json.Fail("an object that is neither a page nor a comment");
    }
    if (total_replies > inline_replies) report_.missing_replies += total_replies - inline_replies;
    const std::string parent = fields.id;
    if (!Try(Take(std::move(fields)))) return false;
    for (Fields& reply : replies) {
      if (reply.parent_id.empty()) reply.parent_id = parent;
      if (!Try(Take(std::move(reply)))) return false;
    }
    return true;
  }

  bool ReadCount(JsonReader& json, int64_t& count) {
    if (json.Peek() != Kind::kNumber) return json.Skip();
    return json.ReadInteger(count);
  }

  // A thread's snippet holds its comment; a comment's holds its text.
  bool ReadSnippet(JsonReader& json, Fields& fields, bool& is_thread, int64_t& total_replies) {
    if (json.Peek() != Kind::kObject) return json.Skip();
    fields.shape = Shape::kYouTubeApi;
    return json.ReadObject([&](std::string_view name) {
      if (name == "topLevelComment") {
        is_thread = true;
        return ReadComment(json, fields, Shape::kYouTubeApi);
      }
      if (name == "totalReplyCount") return ReadCount(json, total_replies);
      return ReadField(json, name, fields, is_thread);
    });
  }

  bool ReadComment(JsonReader& json, Fields& fields, Shape shape) {
    Fields own;
    if (json.Peek() != Kind::kObject) return json.Fail("expected a comment");
    const bool read = json.ReadObject([&](std::string_view name) {
      if (name == "snippet" && json.Peek() == Kind::kObject) {
        return json.ReadObject(
            [&](std::string_view inner) { return ReadField(json, inner, own, false); });
      }
      return ReadField(json, name, own, false);
    });
    own.shape = shape;
    fields = std::move(own);
    return read;
  }

  // YouTube's {"comments": [...]}, or a list of nested comments.
  bool ReadReplies(JsonReader& json, std::vector<Fields>& replies, int64_t& count) {
    const auto one = [&](Shape shape) {
      Fields reply;
      if (!ReadComment(json, reply, shape)) return false;
      ++count;
      replies.push_back(std::move(reply));
      return true;
    };
    if (json.Peek() == Kind::kArray) {
      return json.ReadArray([&] { return one(Shape::kNested); });
    }
    if (json.Peek() != Kind::kObject) return json.Skip();
    return json.ReadObject([&](std::string_view name) {
      if (name != "comments") return json.Skip();
      return json.ReadArray([&] { return one(Shape::kYouTubeApi); });
    });
  }

  static bool ReadText(JsonReader& json, std::string& text) {
    if (json.Peek() == Kind::kString) return json.ReadString(text);
    if (json.Peek() == Kind::kNumber) {
      std::string_view spelling;
      const bool read = json.ReadNumber(spelling);
      text = spelling;
      return read;
    }
    return json.Skip();
  }

  // In a thread the outer id repeats its comment's.
  static bool ReadField(JsonReader& json, std::string_view name, Fields& fields, bool is_thread) {
    if (name == "comment_id" || name == "cid" || (name == "id" && !is_thread)) {
      if (fields.shape == Shape::kNone && name == "comment_id") fields.shape = Shape::kNested;
      if (fields.shape == Shape::kNone && name == "cid") fields.shape = Shape::kJsonl;
      std::string id;
      if (!ReadText(json, id)) return false;
      if (fields.id.empty()) fields.id = std::move(id);
      return true;
    }
    if (name == "textOriginal" || name == "text" || name == "content") {
      fields.has_text = true;
      return ReadText(json, fields.text);
    }
    if (name == "textDisplay") {
      fields.has_text = true;
      return ReadText(json, fields.display);
    }
    if (name == "parentId" || name == "parent_id") return ReadText(json, fields.parent_id);
    if (name == "publishedAt" || name == "published_at" || name == "time_parsed" ||
        name == "date") {
      return ReadText(json, fields.published);
    }
    if (name == "updatedAt" || name == "updated_at") return ReadText(json, fields.updated);
    return json.Skip();
  }

  Status ReadCsv(std::string_view bytes) {
    CsvReader csv(bytes);
    std::vector<std::string> row;
    if (!csv.Next(row) || row.size() < 4 || row[0] != "COMMENT_ID" || row[3] != "CONTENT") {
      return NoShape("is neither JSON nor CSV with the header");
    }
    Saw(Shape::kCsv);
    while (csv.Next(row)) {
      if (row.size() == 1 && row[0].empty()) continue;
      if (row.size() < 4) {
        Skip(row[0], "its row has fewer than 4 columns");
        continue;
      }
      Fields fields;
      fields.shape = Shape::kCsv;
      fields.id = std::move(row[0]);
      fields.published = std::move(row[2]);
      fields.text = std::move(row[3]);
      WINNOW_RETURN_IF_ERROR(Take(std::move(fields)));
    }
    return csv.ok() ? OkStatus() : NoShape("ends within a quoted CSV field");
  }

  const std::string& field_;
  FunctionRef<Status(Comment)> take_;
  ParseReport report_;
  Status taken_;
  bool saw_page_ = false;
};

}  // namespace

std::optional<Time> ParseRawTime(std::string_view text) {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || text[13] != ':') {
    return FromSeconds(text);
  }
  const int year = Digits(text, 0, 4), month = Digits(text, 5, 2), day = Digits(text, 8, 2);
  const int hour = Digits(text, 11, 2), minute = Digits(text, 14, 2), second = Digits(text, 17, 2);
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (year < 1970 || month < 1 || day < 1 || !date.ok() || hour < 0 || hour > 23 || minute < 0 ||
      minute > 59 || second < 0 || second > 60) {
    return std::nullopt;
  }
  Time time = std::chrono::sys_days(date) + std::chrono::hours(hour) +
              std::chrono::minutes(minute) + std::chrono::seconds(second);
  size_t at = 19;
  if (at < text.size() && text[at] == '.') {
    int64_t unit = 100'000;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, unit /= 10) {
      time += Micros(unit * (text[at] - '0'));
    }
  }
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) {
    const int hours = Digits(text, at + 1, 2);
    const int minutes = Digits(text, at + 4, 2);
    if (hours < 0 || minutes < 0) return std::nullopt;
    const auto offset = std::chrono::hours(hours) + std::chrono::minutes(minutes);
    time += text[at] == '-' ? Micros(offset) : -Micros(offset);
  }
  return time;
}

StatusOr<ParseReport> ParseComments(std::string_view bytes, const std::string& field,
                                    FunctionRef<Status(Comment)> take) {
  return Parser(field, take).Run(bytes);
}

}  // namespace winnow::classification
