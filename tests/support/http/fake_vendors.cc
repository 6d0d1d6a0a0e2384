#include "tests/support/http/fake_vendors.h"

#include <algorithm>

namespace winnow::test {
namespace {

std::string Number(const std::map<std::string, std::string>& query, const std::string& name,
                   const std::string& by_default) {
  const auto found = query.find(name);
  return found == query.end() ? by_default : found->second;
}

std::string Join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ",") + part;
  return out;
}

// A body that comes piece by piece, as from an overloaded server.
void Drip(const FakeAnswer& answer, FakeReply& reply) {
  std::string head = "HTTP/1.1 " + std::to_string(answer.status) + " -\r\n";
  for (const auto& [name, value] : answer.headers) head += name + ": " + value + "\r\n";
  head += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n";
  if (!reply.Write(head)) return;
  const size_t size = answer.body.size() / answer.pieces + 1;
  const size_t whole = answer.cut || answer.stall ? answer.pieces - 1 : answer.pieces;
  for (size_t i = 0; i < whole && i * size < answer.body.size(); ++i) {
    if (!reply.Pause(answer.delay) || !reply.Write(answer.body.substr(i * size, size))) return;
  }
  while (answer.stall && reply.Pause(std::chrono::seconds(1))) {
  }
}

}  // namespace

FakeVendor::FakeVendor() {
  server_ = std::make_unique<FakeHttpServer>(
      [this](const FakeRequest& request, FakeReply& reply) { Serve(request, reply); });
}

void FakeVendor::Script(FakeAnswer answer) {
  const std::lock_guard lock(mutex_);
  scripted_.push_back(std::move(answer));
}

void FakeVendor::Watch(std::function<void(const FakeRequest&)> watcher) {
  const std::lock_guard lock(mutex_);
  watcher_ = std::move(watcher);
}

void FakeVendor::Serve(const FakeRequest& request, FakeReply& reply) {
  std::function<void(const FakeRequest&)> watcher;
  {
    const std::lock_guard lock(mutex_);
    watcher = watcher_;
  }
  if (watcher) watcher(request);
  FakeAnswer answer;
  {
    const std::lock_guard lock(mutex_);
    if (scripted_.empty()) {
      answer = Answer(request);
    } else {
      answer = std::move(scripted_.front());
      scripted_.pop_front();
    }
  }
  if (answer.pieces > 1) return Drip(answer, reply);
  if (answer.delay.count() > 0 && !reply.Pause(answer.delay)) return;
  reply.Send(answer.status, answer.body, answer.headers);
}

std::string FakeNaver::Error(const std::string& code, bool nested) {
  const std::string flat = R"({"errorMessage":"a message","errorCode":")" + code + "\"}";
  return nested ? "{\"error\":" + flat + "}" : flat;
}

FakeAnswer FakeNaver::Answer(const FakeRequest& request) {
  const int all = articles_;
  const int start = std::stoi(Number(request.query, "start", "1"));
  const int display = std::stoi(Number(request.query, "display", "10"));
  std::vector<std::string> items;
  for (int i = start; i < start + display && i <= all; ++i) {
    const std::string id = std::to_string(all - i + 1);  // newest first
    const std::string page = "http://" + web_ + "/article/" + id;
    items.push_back(R"({"title":"<b>Article</b> number )" + id + R"(","originallink":")" + page +
                    R"(","link":")" + page + R"(","description":"about )" + id +
                    R"(","pubDate":"Mon, 26 Sep 2016 07:50:00 +0900"})");
  }
  return {200,
          R"({"lastBuildDate":"Mon, 26 Sep 2016 11:01:35 +0900","total":)" + std::to_string(all) +
              ",\"start\":" + std::to_string(start) + ",\"display\":" + std::to_string(display) +
              ",\"items\":[" + Join(items) + "]}",
          {{"Content-Type", "text/plain"}},
          {}};
}

FakeAnswer FakeNewsData::Answer(const FakeRequest& request) {
  constexpr int64_t kFirstToken = 9'007'199'254'740'993;  // 2^53 + 1
  const std::string token = Number(request.query, "page", "");
  const int64_t page = token.empty() ? 0 : std::stoll(token) - kFirstToken;
  std::vector<std::string> results;
  for (int64_t i = page * size_; i < (page + 1) * size_; ++i) {
    const std::string id = std::to_string(i);
    results.push_back(R"({"article_id":"id-)" + id + R"(","title":"Data article )" + id +
                      R"(","link":"http://)" + web_ + "/data/" + id +
                      R"(","image_url":"https://img.example/)" + id +
                      R"(.jpg","keywords":null,"category":["technology"],"source_id":"outlet",)" +
                      R"("pubDate":"2024-07-20 08:21:00","language":"english",)" +
                      R"("ai_tag":"ONLY AVAILABLE IN PAID PLANS","duplicate":false})");
  }
  const std::string next =
      page + 1 < pages_ ? "\"" + std::to_string(kFirstToken + page + 1) + "\"" : "null";
  return {200,
          R"({"status":"success","totalResults":99,"results":[)" + Join(results) +
              "],\"nextPage\":" + next + "}",
          {{"Content-Type", "application/json"}},
          {}};
}

FakeAnswer FakeWeb::Answer(const FakeRequest& request) {
  if (request.path == "/feed") {
    const int entries = entries_;
    const std::string etag = "\"feed-" + std::to_string(entries) + "\"";
    const auto held = request.headers.find("if-none-match");
    if (held != request.headers.end() && held->second == etag)
      return {304, "", {{"ETag", etag}}, {}};
    std::string items;
    for (int i = 0; i < entries; ++i) {
      items += "<item><title>Entry " + std::to_string(i) + "</title><link>http://" +
               server().address() + "/entry/" + std::to_string(i) + "</link></item>";
    }
    return {200,
            "<rss><channel><title>Fake web</title>" + items + "</channel></rss>",
            {{"ETag", etag}, {"Content-Type", "text/xml; charset=utf-8"}},
            {}};
  }
  const bool odd = (request.path.back() - '0') % 2 == 1;
  const std::string image =
      odd ? ""
          : "<meta property='og:image' content='/picture" + request.path + ".jpg?a=1&amp;b=2'>";
  return {200,
          "<html><head><title>A page</title><!--" + std::string(filler_, 'x') + "-->" + image +
              "</head><body>text</body></html>",
          {{"Content-Type", "text/html"}},
          delay_};
}

}  // namespace winnow::test
