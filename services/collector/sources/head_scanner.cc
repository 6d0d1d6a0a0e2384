#include "services/collector/sources/head_scanner.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "services/collector/sources/json_fields.h"
#include "services/collector/sources/vendor.h"
#include "services/platform/base/ascii.h"
#include "services/platform/base/format/charset.h"
#include "services/platform/base/text.h"
#include "services/platform/base/url/target.h"

namespace winnow::collector {
namespace {

constexpr size_t kMaxTag = 64 * 1024;  // a "<" that is not closed within is not a tag
constexpr size_t kMaxAttributes = 64;
constexpr size_t kMaxAddress = 4 * kMaxUrl;
constexpr std::string_view kOgPrefix = "og:image";

size_t FindIgnoringCase(std::string_view text, std::string_view lower, size_t from = 0) {
  const auto found =
      std::search(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), lower.begin(),
                  lower.end(), [](char a, char b) { return ToLowerAscii(a) == b; });
  return found == text.end() ? std::string_view::npos : static_cast<size_t>(found - text.begin());
}

// The end of a tag, past quoted values; npos when it has not come.
size_t TagEnd(std::string_view text) {
  char quote = '\0';
  for (size_t i = 1; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '>') {
      return i;
    } else if ((c == '"' || c == '\'') && (text[i - 1] == '=' || IsAsciiSpace(text[i - 1]))) {
      quote = c;
    }
  }
  return std::string_view::npos;
}

std::string_view TakeWord(std::string_view& text, std::string_view ends) {
  size_t size = 0;
  while (size < text.size() && !IsAsciiSpace(text[size]) &&
         ends.find(text[size]) == std::string_view::npos) {
    ++size;
  }
  const std::string_view word = text.substr(0, size);
  text.remove_prefix(size);
  return word;
}

void SkipSpace(std::string_view& text) {
  while (!text.empty() && (IsAsciiSpace(text.front()) || text.front() == '/'))
    text.remove_prefix(1);
}

std::string_view TakeValue(std::string_view& text) {
  while (!text.empty() && IsAsciiSpace(text.front())) text.remove_prefix(1);
  if (text.empty()) return {};
  const char quote = text.front();
  if (quote != '"' && quote != '\'') return TakeWord(text, "");
  const size_t end = std::min(text.find(quote, 1), text.size());
  const std::string_view value = text.substr(1, end - 1);
  text.remove_prefix(std::min(end + 1, text.size()));
  return value;
}

// "image": an address, a list of them, or ImageObjects; at any depth of the graph.
std::string FindJsonImage(JsonReader& in, int depth, bool is_image) {
  std::string found;
  constexpr int kMaxDepth = 8;
  if (depth > kMaxDepth) {
    in.Skip();
  } else if (in.Peek() == JsonReader::Kind::kArray) {
    in.ReadArray([&] {
      std::string one = FindJsonImage(in, depth + 1, is_image);
      if (found.empty()) found = std::move(one);
      return in.ok();
    });
  } else if (in.Peek() == JsonReader::Kind::kObject) {
    in.ReadObject([&](std::string_view name) {
      const bool of_image = is_image && (name == "url" || name == "contentUrl" || name == "@id");
      const bool worth = of_image || name == "image" || name == "thumbnailUrl" || name == "@graph";
      if (!worth) return in.Skip();
      std::string one = FindJsonImage(in, depth + 1, is_image || name != "@graph");
      if (found.empty()) found = std::move(one);
      return in.ok();
    });
  } else {
    found = ReadText(in);
    if (!is_image) found.clear();
  }
  return found;
}

}  // namespace

std::string_view HeadScanner::Tag::Find(std::string_view attribute) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const auto& one) { return one.first == attribute; });
  return found == attributes.end() ? std::string_view() : std::string_view(found->second);
}

bool HeadScanner::Feed(std::string_view piece) {
  if (done_) return false;
  piece = piece.substr(0, kMaxHeadBytes - bytes_);
  bytes_ += piece.size();
  buffer_ += piece;
  Scan();
  if (bytes_ >= kMaxHeadBytes) done_ = true;
  if (head_ended_ && std::any_of(std::begin(found_), std::end(found_),
                                 [](const std::string& one) { return !one.empty(); })) {
    done_ = true;
  }
  return !done_;
}

void HeadScanner::Scan() {
  size_t mark = 0;
  const std::string_view charset = bytes_ == buffer_.size() ? CharsetOfMark(buffer_, mark) : "";
  if (charset.starts_with("utf-16")) {
    // Rare: what a "<" is shows only once it is decoded. An odd byte at the end is lost.
    if (const auto text = DecodeToUtf8(std::string_view(buffer_).substr(mark), charset)) {
      declared_ = "utf-8";
      raw_until_.clear();
      raw_is_json_ = false;
      const std::string whole = buffer_;
      buffer_ = *text;
      while (!buffer_.empty()) {
        const size_t size = Take(buffer_);
        if (size == 0) break;
        buffer_.erase(0, size);
      }
      buffer_ = whole;
    }
    return;
  }
  std::string_view rest = buffer_;
  while (!rest.empty() && !done_) {
    const size_t size = Take(rest);
    if (size == 0) break;
    rest.remove_prefix(size);
  }
  buffer_.erase(0, buffer_.size() - rest.size());
}

size_t HeadScanner::Take(std::string_view text) {
  if (!raw_until_.empty()) return TakeRaw(text);
  const size_t begin = text.find('<');
  if (begin == std::string_view::npos) return text.size();
  if (begin > 0) return begin;
  if (text.starts_with("<!--")) {
    const size_t end = text.find("-->", 4);
    if (end != std::string_view::npos) return end + 3;
    return text.size() > kMaxTag * 4 ? 4 : 0;
  }
  if (text.size() < 5) return 0;  // "<", "<!--" may be to come
  return TakeTag(text);
}

size_t HeadScanner::TakeRaw(std::string_view text) {
  const size_t end = FindIgnoringCase(text, raw_until_);
  if (end == std::string_view::npos) {
    // JSON is wanted whole; of anything else only a tail that may begin the end is kept.
    if (raw_is_json_) return 0;
    return text.size() > raw_until_.size() ? text.size() - raw_until_.size() : 0;
  }
  if (raw_is_json_) HandleJson(text.substr(0, end));
  raw_until_.clear();
  raw_is_json_ = false;
  return end == 0 ? 1 : end;
}

size_t HeadScanner::TakeTag(std::string_view text) {
  const size_t end = TagEnd(text.substr(0, kMaxTag));
  if (end == std::string_view::npos) return text.size() >= kMaxTag ? 1 : 0;
  std::string_view rest = text.substr(1, end - 1);
  Tag tag;
  const bool closing = rest.starts_with("/");
  if (closing) rest.remove_prefix(1);
  tag.name = LowerAscii(TakeWord(rest, "/>"));
  if (closing) {
    if (tag.name == "head") head_ended_ = true;
    return end + 1;
  }
  for (SkipSpace(rest); !rest.empty() && tag.attributes.size() < kMaxAttributes; SkipSpace(rest)) {
    std::string name = LowerAscii(TakeWord(rest, "=/>"));
    std::string_view after = rest;
    SkipSpace(after);
    std::string value;
    if (after.starts_with("=")) {
      rest = after.substr(1);
      value = TakeValue(rest);
    } else if (name.empty()) {
      rest.remove_prefix(std::min<size_t>(1, rest.size()));
    }
    if (!name.empty()) tag.attributes.emplace_back(std::move(name), std::move(value));
  }
  Handle(tag);
  return end + 1;
}

void HeadScanner::Handle(const Tag& tag) {
  if (tag.name == "meta") {
    HandleMeta(tag);
  } else if (tag.name == "link") {
    HandleLink(tag);
  } else if (tag.name == "base") {
    if (base_.empty()) base_ = tag.Find("href").substr(0, kMaxAddress);
  } else if (tag.name == "body") {
    head_ended_ = true;
  } else if (tag.name == "script" || tag.name == "style" || tag.name == "title" ||
             tag.name == "textarea") {
    raw_until_ = "</" + tag.name;
    raw_is_json_ = LowerAscii(tag.Find("type")).find("ld+json") != std::string::npos;
  }
}

void HeadScanner::HandleMeta(const Tag& tag) {
  if (declared_.empty()) {
    declared_ = tag.Find("charset").substr(0, 40);
    const bool content_type = LowerAscii(tag.Find("http-equiv")) == "content-type";
    if (content_type) declared_ = CharsetOfContentType(tag.Find("content"));
  }
  std::string name = LowerAscii(TrimAscii(tag.Find("property")));
  if (name.empty()) name = LowerAscii(TrimAscii(tag.Find("name")));
  if (name.empty()) name = LowerAscii(TrimAscii(tag.Find("itemprop")));
  std::string_view value = tag.Find("content");
  if (value.empty()) value = tag.Find("value");
  if (name == "og:image") Found(kOgImage, value);
  if (name == "og:image:url") Found(kOgUrl, value);
  if (name == "og:image:secure_url") Found(kOgSecure, value);
  if (name.starts_with(kOgPrefix)) {
    FoundNumbered(std::string_view(name).substr(kOgPrefix.size()), value);
  }
  if (name == "twitter:image" || name == "twitter:image:src") Found(kTwitter, value);
}

void HeadScanner::HandleLink(const Tag& tag) {
  const std::string rel = " " + LowerAscii(tag.Find("rel")) + " ";
  if (rel.find(" image_src ") != std::string::npos) Found(kLink, tag.Find("href"));
}

void HeadScanner::HandleJson(std::string_view text) {
  JsonReader in(text);
  Found(kJson, JsonQuoted(FindJsonImage(in, 0, false)));
}

void HeadScanner::Found(Rank rank, std::string_view value) {
  value = TrimAscii(value);
  if (value.size() <= 2 || value.size() > kMaxAddress || !found_[rank].empty()) return;
  found_[rank] = value;
}

void HeadScanner::FoundNumbered(std::string_view number, std::string_view value) {
  if (number.starts_with(':')) number.remove_prefix(1);
  int parsed = 0;
  const char* end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, parsed);
  if (error != std::errc() || stop != end || parsed < 0) return;
  std::string& found = found_[kOgNumbered];
  if (!found.empty() && lowest_number_ <= parsed) return;
  std::string before = std::exchange(found, {});
  Found(kOgNumbered, value);
  if (found.empty()) {
    found = std::move(before);
  } else {
    lowest_number_ = parsed;
  }
}

std::string HeadScanner::Image(const std::string& page_url, std::string_view transport) const {
  StatusOr<http::Target> page = http::ParseTarget(page_url);
  if (!page.ok()) return {};
  if (!base_.empty()) {
    StatusOr<http::Target> base = http::Resolve(*page, std::string(TrimAscii(UnescapeHtml(base_))));
    if (base.ok()) page = std::move(base);
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    std::string value = found_[rank];
    if (value.empty()) continue;
    if (rank == kJson) {
      JsonReader in(value);
      std::string text;
      if (!in.ReadString(text)) continue;
      value = std::move(text);
    } else {
      value = UnescapeHtml(DecodeWebText(value, transport, declared_));
    }
    const StatusOr<http::Target> image = http::Resolve(*page, value);
    if (!image.ok() || ChannelOf(image->url).empty() || image->url.size() > kMaxUrl) continue;
    return image->url;
  }
  return {};
}

}  // namespace winnow::collector
