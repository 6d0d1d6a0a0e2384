#include "services/app/import/checkpoint.h"

#include <fcntl.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "services/platform/base/hash.h"
#include "services/platform/base/timestamp.h"

namespace winnow::app {
namespace {

namespace fs = std::filesystem;
using google::protobuf::Struct;
using google::protobuf::Value;

constexpr int kVersion = 1;
// Ids of undecided items are its bulk, and the import keeps those few.
constexpr size_t kMaxCheckpointBytes = 16 << 20;

std::string IdentityText(const ImportIdentity& identity) {
  return identity.file + '\n' + identity.address + '\n' + identity.item_namespace;
}

void SetText(Struct& out, const std::string& name, const std::string& text) {
  (*out.mutable_fields())[name].set_string_value(text);
}

void SetNumber(Struct& out, const std::string& name, int64_t number) {
  (*out.mutable_fields())[name].set_number_value(static_cast<double>(number));
}

// Reads members one by one; a missing or mistyped one makes the whole unreadable.
class Members {
 public:
  explicit Members(const Struct& members) : members_(members) {}

  std::string Text(const std::string& name) {
    const Value* value = Find(name, Value::kStringValue);
    return value == nullptr ? "" : value->string_value();
  }
  int64_t Number(const std::string& name) {
    const Value* value = Find(name, Value::kNumberValue);
    return value == nullptr ? 0 : std::llround(value->number_value());
  }
  const Struct& Object(const std::string& name) {
    const Value* value = Find(name, Value::kStructValue);
    return value == nullptr ? Struct::default_instance() : value->struct_value();
  }
  bool good() const { return good_; }

 private:
  const Value* Find(const std::string& name, Value::KindCase kind) {
    const auto found = members_.fields().find(name);
    if (found != members_.fields().end() && found->second.kind_case() == kind) {
      return &found->second;
    }
    good_ = false;
    return nullptr;
  }
  const Struct& members_;
  bool good_ = true;
};

Struct ToStruct(const Checkpoint& checkpoint) {
  Struct out;
  SetNumber(out, "version", kVersion);
  SetText(out, "file", checkpoint.identity.file);
  SetNumber(out, "file_bytes", checkpoint.identity.file_bytes);
  // A double does not hold all digits of nanoseconds since 1970.
  SetText(out, "file_modified_ns", std::to_string(checkpoint.identity.file_modified_ns));
  SetText(out, "address", checkpoint.identity.address);
  SetText(out, "namespace", checkpoint.identity.item_namespace);
  SetNumber(out, "last_line", checkpoint.last_line);
  SetText(out, "began", FormatTime(checkpoint.began));
  SetNumber(out, "lines", checkpoint.tally.lines);
  SetNumber(out, "already_present", checkpoint.tally.already_present);
  SetNumber(out, "accepted", checkpoint.tally.accepted);
  SetNumber(out, "duplicates", checkpoint.tally.duplicates);
  Struct& refused = *(*out.mutable_fields())["refused"].mutable_struct_value();
  for (const auto& [reason, count] : checkpoint.tally.refused_by_reason) {
    SetNumber(refused, reason, count);
  }
  auto& undecided = *(*out.mutable_fields())["undecided"].mutable_list_value();
  for (const std::string& id : checkpoint.undecided) undecided.add_values()->set_string_value(id);
  return out;
}

std::optional<Checkpoint> FromStruct(const Struct& text) {
  Members members(text);
  Checkpoint checkpoint;
  checkpoint.identity.file = members.Text("file");
  checkpoint.identity.file_bytes = members.Number("file_bytes");
  checkpoint.identity.file_modified_ns =
      std::strtoll(members.Text("file_modified_ns").c_str(), nullptr, 10);
  checkpoint.identity.address = members.Text("address");
  checkpoint.identity.item_namespace = members.Text("namespace");
  checkpoint.last_line = members.Number("last_line");
  const auto began = ParseTime(members.Text("began"));
  checkpoint.tally.lines = members.Number("lines");
  checkpoint.tally.already_present = members.Number("already_present");
  checkpoint.tally.accepted = members.Number("accepted");
  checkpoint.tally.duplicates = members.Number("duplicates");
  for (const auto& [reason, count] : members.Object("refused").fields()) {
    checkpoint.tally.refused_by_reason[reason] = std::llround(count.number_value());
  }
  const auto undecided = text.fields().find("undecided");
  if (undecided == text.fields().end()) return std::nullopt;
  for (const Value& id : undecided->second.list_value().values()) {
    checkpoint.undecided.insert(id.string_value());
  }
  const auto waiting = static_cast<int64_t>(checkpoint.undecided.size());
  const bool adds_up = checkpoint.tally.undecided() == waiting;
  const bool known = members.Number("version") == kVersion;
  if (!members.good() || !known || !began.ok() || !adds_up) return std::nullopt;
  checkpoint.began = *began;
  return checkpoint;
}

std::optional<Struct> ReadStruct(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxCheckpointBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  Struct read;
  if (!google::protobuf::util::JsonStringToMessage(text, &read).ok()) return std::nullopt;
  return read;
}

Status WriteFile(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool written = fd >= 0;
  for (size_t done = 0; written && done < text.size();) {
    const ssize_t count = write(fd, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    written = count > 0;
    done += written ? static_cast<size_t>(count) : 0;
  }
  const int error = errno;
  if (fd >= 0) close(fd);
  if (written) return OkStatus();
  return FailedPrecondition(path + " cannot be written: " + std::generic_category().message(error));
}

}  // namespace

std::optional<std::string> DefaultCheckpointPath(const ImportIdentity& identity) {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  fs::path folder;
  if (state != nullptr && state[0] == '/') {
    folder = fs::path(state) / "winnow";
  } else if (home != nullptr && home[0] == '/') {
    folder = fs::path(home) / ".local" / "state" / "winnow";
  } else {
    return std::nullopt;
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || access(folder.c_str(), W_OK) != 0) return std::nullopt;
  std::ostringstream name;
  name << "import-" << std::hex << Hash64(IdentityText(identity)) << ".json";
  return (folder / name.str()).string();
}

std::optional<Checkpoint> ReadCheckpoint(const std::string& path, const ImportIdentity& identity) {
  const auto read = ReadStruct(path);
  if (!read) return std::nullopt;
  auto checkpoint = FromStruct(*read);
  if (!checkpoint || !(checkpoint->identity == identity)) return std::nullopt;
  return checkpoint;
}

Status CheckMayReplace(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return OkStatus();
  const bool regular = fs::is_regular_file(path, error);
  if (regular && fs::file_size(path, error) == 0) return OkStatus();
  const auto read = regular ? ReadStruct(path) : std::nullopt;
  if (read && read->fields().contains("last_line")) return OkStatus();
  return InvalidField("--checkpoint", path + " is something else: name a file of its own");
}

Status WriteCheckpoint(const std::string& path, const Checkpoint& checkpoint) {
  std::string text;
  const auto printed = google::protobuf::util::MessageToJsonString(ToStruct(checkpoint), &text);
  if (!printed.ok()) return Internal("checkpoint cannot be printed");
  const std::string fresh = path + ".new";
  WINNOW_RETURN_IF_ERROR(WriteFile(fresh, text));
  std::error_code error;
  fs::rename(fresh, path, error);
  if (error) return FailedPrecondition(path + " cannot be written: " + error.message());
  return OkStatus();
}

void RemoveCheckpoint(const std::string& path) {
  std::error_code error;  // when it cannot be removed, it belongs to another import
  fs::remove(path, error);
}

}  // namespace winnow::app
