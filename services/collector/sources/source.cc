#include "services/collector/sources/source.h"

#include <algorithm>

#include "services/collector/sources/naver.h"
#include "services/collector/sources/newsdata.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/text.h"

namespace winnow::collector {
namespace {

using std::chrono::seconds;

constexpr const char* kKinds[] = {"none", "naver", "newsdata", "feed"};
constexpr seconds kNaverInterval{300};
constexpr seconds kNewsDataInterval{1'800};
constexpr seconds kFeedInterval{300};
constexpr seconds kFeedMaxInterval = std::chrono::hours(24);

class Checker {
 public:
  Checker(Source& source, std::string_view path, Violations& violations)
      : source_(source), path_(path), violations_(violations) {}

  void Run() {
    if (source_.ns.empty()) source_.ns = kDefaultNamespace;
    CheckNamespace(source_.ns, Field("namespace"), violations_);
    if (!IsSlug(source_.id)) Add("id", "is not a valid source ID: use 1 to 64 of a-z, 0-9 and -");
    CheckText(source_.display_name, kMaxDisplayName, Field("display_name"), violations_);
    CheckWords();
    switch (source_.kind) {
      case SourceKind::kNaver:
        CheckNaver();
        break;
      case SourceKind::kNewsData:
        CheckNewsData();
        break;
      case SourceKind::kFeed:
        CheckFeed();
        break;
      case SourceKind::kNone:
        Add("kind", "is required: set naver, newsdata or feed");
    }
    CheckIntervals();
  }

 private:
  std::string Field(std::string_view name) const { return path_ + "." + std::string(name); }
  void Add(std::string_view name, std::string description) {
    violations_.Add(Field(name), std::move(description));
  }

  void CheckWords() {
    if (source_.categories.size() > kMaxCategories) {
      return Add("categories", "has more than " + std::to_string(kMaxCategories) + " entries");
    }
    if (TakeWords(source_.categories, kMaxCategories) != source_.categories) {
      Add("categories", "holds a blank, repeated or over-long entry: at most 100 characters each");
    }
  }

  void CheckRange(std::string_view name, int& value, int by_default, int most) {
    if (value == 0) value = by_default;
    if (value < 1 || value > most) Add(name, "must be 1 to " + std::to_string(most));
  }

  void CheckCredential(std::string_view name) {
    if (!IsSlug(source_.credential)) {
      Add(name, "is required: the name of a credential of the configuration, of a-z, 0-9 and -");
    }
  }

  void CheckNaver() {
    CheckCredential("naver.credential");
    if (CollapseWhitespace(source_.query).empty()) Add("naver.query", "is required");
    CheckText(source_.query, kMaxQuery, Field("naver.query"), violations_);
    CheckRange("naver.page_size", source_.page_size, kNaverMaxDisplay, kNaverMaxDisplay);
    CheckRange("naver.max_pages", source_.max_pages, 1, kMaxPages);
  }

  void CheckNewsData() {
    CheckCredential("newsdata.credential");
    CheckText(source_.query, kMaxQuery, Field("newsdata.query"), violations_);
    for (const auto& [name, text] : {std::pair("newsdata.country", &source_.country),
                                     std::pair("newsdata.language", &source_.language),
                                     std::pair("newsdata.category", &source_.category),
                                     std::pair("newsdata.timeframe", &source_.timeframe)}) {
      CheckText(*text, kMaxWord, Field(name), violations_);
    }
    CheckRange("newsdata.page_size", source_.page_size, 10, kNewsDataMaxSize);
    CheckRange("newsdata.max_pages", source_.max_pages, 1, kMaxPages);
  }

  void CheckFeed() {
    CheckText(source_.url, kMaxUrl, Field("feed.url"), violations_);
    CheckText(source_.channel, kMaxChannel, Field("feed.channel"), violations_);
    if (ChannelOf(source_.url).empty()) {
      Add("feed.url", "is not an absolute http or https URL: send the address of the feed");
    }
  }

  void CheckIntervals() {
    seconds by_default = kFeedInterval;
    if (source_.kind == SourceKind::kNaver) by_default = kNaverInterval;
    if (source_.kind == SourceKind::kNewsData) by_default = kNewsDataInterval;
    if (source_.interval == seconds(0)) source_.interval = by_default;
    if (source_.interval < kMinInterval || source_.interval > kMaxInterval) {
      Add("interval", "must be 60 s to 7 days");
    }
    const bool feed = source_.kind == SourceKind::kFeed;
    if (source_.max_interval == seconds(0)) {
      source_.max_interval = feed ? std::max(kFeedMaxInterval, source_.interval) : source_.interval;
    }
    if (source_.max_interval < source_.interval || source_.max_interval > kMaxInterval) {
      Add("max_interval", "must be at least interval and at most 7 days");
    } else if (!feed && source_.max_interval != source_.interval) {
      Add("max_interval", "has no meaning but for feeds: leave it out");
    }
  }

  Source& source_;
  const std::string path_;
  Violations& violations_;
};

}  // namespace

const char* NameOf(SourceKind kind) { return kKinds[static_cast<size_t>(kind)]; }

void AcceptSource(Source& source, std::string_view path, Violations& violations) {
  Checker(source, path, violations).Run();
}

std::string FeedSourceId(const std::string& url) {
  const Hash128Value hash = Hash128(url);
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(hash.high >> shift);
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(hash.low >> shift);
  return "feed-" + Hex(bytes);
}

}  // namespace winnow::collector
