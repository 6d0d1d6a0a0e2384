#include "services/platform/process/secret_file.h"

#include "services/platform/process/file.h"

namespace winnow {
namespace {

constexpr size_t kMaxSecretSize = 64 * 1024;

}  // namespace

StatusOr<std::string> ReadSecretFile(const std::string& path, std::string_view field) {
  auto text = ReadFile(path, kMaxSecretSize);
  if (!text.ok()) {
    return InvalidField(std::string(field), "the file " + path +
                                                " cannot be read: " + Message(text.status()) +
                                                "; give the path of a file that holds the secret");
  }
  if (text->ends_with('\n')) text->pop_back();
  if (text->ends_with('\r')) text->pop_back();
  if (text->empty()) {
    return InvalidField(std::string(field),
                        "the file " + path + " is empty: write the secret into it");
  }
  return text;
}

}  // namespace winnow
