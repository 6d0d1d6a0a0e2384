#include "tests/support/news/data_lines.h"

#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>

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

}  // namespace

bool ForEachDataLine(const std::string& name,
                     const std::function<void(const simdjson::dom::element& line)>& take) {
  const std::filesystem::path path = DataFolder() / name;
  if (!std::filesystem::is_regular_file(path)) return false;
  const std::unique_ptr<gzFile_s, CloseFile> file(gzopen(path.c_str(), "rb"));
  if (!file) throw std::runtime_error("cannot open " + path.string());
  simdjson::dom::parser parser;
  std::string line(kMaxLine, '\0');
  while (gzgets(file.get(), line.data(), static_cast<int>(line.size())) != nullptr) {
    simdjson::dom::element element;
    if (parser.parse(std::string(line.c_str())).get(element) != simdjson::SUCCESS) {
      throw std::runtime_error("a line of " + path.string() + " is no JSON");
    }
    take(element);
  }
  return true;
}

std::string TextOf(const simdjson::dom::element& line, const char* key) {
  std::string_view text;
  return line[key].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

}  // namespace winnow::test
