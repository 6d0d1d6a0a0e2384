#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/http/fake_http.h"

// Small servers that answer as vendors, feeds and news pages do. What was scripted comes first,
// each once; then what they always have.
namespace winnow::test {

struct FakeAnswer {
  int status = 200;
  std::string body;
  FakeReply::Headers headers;
  std::chrono::milliseconds delay{0};
  size_t pieces = 1;   // the body comes in so many, with `delay` before each
  bool cut = false;    // the last of them never comes
  bool stall = false;  // nor anything else: the connection stays open
};

class FakeVendor {
 public:
  FakeVendor();
  virtual ~FakeVendor() = default;

  void Script(FakeAnswer answer);
  // Is shown each request before it is answered, and may Script that answer.
  void Watch(std::function<void(const FakeRequest&)> watcher);
  void Stop() { server_.reset(); }
  FakeHttpServer& server() { return *server_; }
  std::string address() const { return server_->address(); }

 protected:
  virtual FakeAnswer Answer(const FakeRequest& request) = 0;

 private:
  void Serve(const FakeRequest& request, FakeReply& reply);
  std::mutex mutex_;
  std::deque<FakeAnswer> scripted_;
  std::function<void(const FakeRequest&)> watcher_;
  std::unique_ptr<FakeHttpServer> server_;
};

// Naver's search: `articles` of them, newest first, whose pages are at `web` ("127.0.0.1:80").
class FakeNaver : public FakeVendor {
 public:
  explicit FakeNaver(int articles = 10, std::string web = "outlet.example")
      : articles_(articles), web_(std::move(web)) {}
  ~FakeNaver() override { Stop(); }
  // More articles came in: what follows shifts by as many.
  void Shift(int by = 1) { articles_ += by; }
  static std::string Error(const std::string& code, bool nested = false);

 protected:
  FakeAnswer Answer(const FakeRequest& request) override;

 private:
  std::atomic<int> articles_;
  const std::string web_;
};

// NewsData's latest: `pages` of `size` articles, by nextPage tokens beyond 2^53.
class FakeNewsData : public FakeVendor {
 public:
  FakeNewsData(int pages, int size, std::string web = "outlet.example")
      : pages_(pages), size_(size), web_(std::move(web)) {}
  ~FakeNewsData() override { Stop(); }

 protected:
  FakeAnswer Answer(const FakeRequest& request) override;

 private:
  const int pages_;
  const int size_;
  const std::string web_;
};

// Pages of articles with a picture in their head, after `filler` bytes; odd ones have none. And a
// feed of `entries` at /feed, with ETag.
class FakeWeb : public FakeVendor {
 public:
  explicit FakeWeb(size_t filler = 0, std::chrono::milliseconds delay = {}, int entries = 3)
      : filler_(filler), delay_(delay), entries_(entries) {}
  ~FakeWeb() override { Stop(); }
  void AddEntry() { ++entries_; }

 protected:
  FakeAnswer Answer(const FakeRequest& request) override;

 private:
  const size_t filler_;
  const std::chrono::milliseconds delay_;
  std::atomic<int> entries_;
};

}  // namespace winnow::test
