#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// The picture that a page shows of itself: Open Graph, Twitter, image_src, JSON-LD.
namespace winnow::collector {

inline constexpr size_t kMaxHeadBytes = 512 * 1024;

// Reads a page as it comes, and keeps what may name a picture. Works on bytes: in every charset
// that pages are written in, UTF-16 apart, "<", ">" and quotes are themselves and nothing else.
class HeadScanner {
 public:
  // The next piece. False: enough. The head has ended and a picture was seen, or the cap is
  // reached. (Pages whose head ends early have their tags in the body: without a picture it goes
  // on.)
  bool Feed(std::string_view piece);
  bool wants_more() const { return !done_; }
  size_t bytes() const { return bytes_; }

  // The picture's address, absolute, by the base element and `page_url`; empty if there is none.
  // `transport`: charset of the Content-Type, or empty.
  std::string Image(const std::string& page_url, std::string_view transport) const;

 private:
  // Lower is better: the order of the published design and of browsers.
  enum Rank { kOgImage, kOgSecure, kOgUrl, kOgNumbered, kTwitter, kLink, kJson, kRanks };
  struct Tag {
    std::string name;
    std::vector<std::pair<std::string, std::string>> attributes;  // names in lower case
    std::string_view Find(std::string_view attribute) const;
  };

  void Scan();
  // Bytes of the construct at the front of `text`, 0 when its end has not come.
  size_t Take(std::string_view text);
  size_t TakeTag(std::string_view text);
  size_t TakeRaw(std::string_view text);
  void Handle(const Tag& tag);
  void HandleMeta(const Tag& tag);
  void HandleLink(const Tag& tag);
  void HandleJson(std::string_view text);
  void Found(Rank rank, std::string_view value);
  // "og:image1", "og:image:2": of pages that name no og:image, the lowest number counts.
  void FoundNumbered(std::string_view number, std::string_view value);

  std::string buffer_;  // what was not scanned yet
  size_t bytes_ = 0;
  bool done_ = false;
  bool head_ended_ = false;
  std::string raw_until_;  // "</script" while inside one
  bool raw_is_json_ = false;
  std::string declared_;  // charset of a meta element
  std::string base_;
  std::string found_[kRanks];  // in the page's charset
  int lowest_number_ = 0;      // of found_[kOgNumbered], where that is not empty
};

}  // namespace winnow::collector
