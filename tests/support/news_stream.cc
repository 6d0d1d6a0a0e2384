#include "tests/support/news_stream.h"

#include <simdjson.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "services/platform/timestamp.h"

namespace winnow::test {
namespace {

constexpr size_t kMaxLine = size_t{1} << 20;

struct CloseFile {
  void operator()(gzFile file) const { gzclose(file); }
};

std::filesystem::path DataFolder() {
  if (const char* given = std::getenv("WINNOW_DATA")) return given;
  // ctest runs in the repository.
  return std::filesystem::current_path().parent_path() / "shared" / "data";
}

std::string Text(const simdjson::dom::element& item, const char* key) {
  std::string_view text;
  return item[key].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

}  // namespace

std::vector<NewsItem> ReadNews(const std::string& name) {
  const std::filesystem::path path = DataFolder() / "news" / name;
  std::vector<NewsItem> news;
  if (!std::filesystem::is_regular_file(path)) return news;
  const std::unique_ptr<gzFile_s, CloseFile> file(gzopen(path.c_str(), "rb"));
  if (!file) throw std::runtime_error("cannot open " + path.string());
  simdjson::dom::parser parser;
  std::string line(kMaxLine, '\0');
  while (gzgets(file.get(), line.data(), static_cast<int>(line.size())) != nullptr) {
    simdjson::dom::element item;
    if (parser.parse(std::string(line.c_str())).get(item) != simdjson::SUCCESS) {
      throw std::runtime_error("a line of " + path.string() + " is no JSON");
    }
    const StatusOr<Time> time = ParseTime(Text(item, "published_at"));
    if (!time.ok()) throw std::runtime_error("a line of " + path.string() + " has no time");
    news.push_back({Text(item, "title"), Text(item, "snippet"), Text(item, "channel"),
                    Text(item, "url"), *time});
  }
  return news;
}

}  // namespace winnow::test
