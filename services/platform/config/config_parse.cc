#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>

#include <memory>
#include <set>
#include <utility>

#include "services/platform/base/format/json_tree.h"
#include "services/platform/config/config.h"
#include "services/platform/process/file.h"

namespace winnow {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Walks over the JSON and the message's fields together, and goes on after each violation: protobuf
// alone would stop at the first and not report its line.
class ConfigReader {
 public:
  ConfigReader(std::string_view text, std::string_view origin) : text_(text), origin_(origin) {}

  void ReadMessage(const JsonValue& object, const std::string& path, Message& into) {
    std::set<const FieldDescriptor*> seen;
    for (const JsonMember& member : object.members) {
      const FieldDescriptor* field = FindField(*into.GetDescriptor(), member.name);
      if (field == nullptr) {
        AddUnknown(Join(path, member.name), member, *into.GetDescriptor());
        continue;
      }
      const std::string field_path = Join(path, field->name());
      if (!seen.insert(field).second) {
        Add(field_path, "is given twice: keep one", member.raw);
        continue;
      }
      ReadField(member.value, field_path, *field, into);
    }
  }

  const Violations& violations() const { return violations_; }

 private:
  static std::string Join(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + "." + name;
  }

  // By the proto's name or by its JSON name.
  static const FieldDescriptor* FindField(const Descriptor& descriptor, const std::string& name) {
    const FieldDescriptor* field = descriptor.FindFieldByName(name);
    for (int i = 0; field == nullptr && i < descriptor.field_count(); ++i) {
      if (descriptor.field(i)->json_name() == name) field = descriptor.field(i);
    }
    return field;
  }

  void Add(const std::string& path, std::string description, std::string_view place) {
    violations_.Add(path, std::move(description) + " (" + JsonPlace(text_, place, origin_) + ")");
  }

  void AddUnknown(const std::string& path, const JsonMember& member, const Descriptor& descriptor) {
    std::string known;
    for (int i = 0; i < descriptor.field_count(); ++i) {
      known += (i == 0 ? "" : ", ") + descriptor.field(i)->name();
    }
    Add(path,
        known.empty() ? "is unknown: there are no settings here yet"
                      : "is unknown: there are " + known,
        member.raw);
  }

  void ReadField(const JsonValue& value, const std::string& path, const FieldDescriptor& field,
                 Message& into) {
    if (value.kind == JsonValue::Kind::kNull) return;  // as if it were not there
    if (field.is_repeated()) {
      ReadList(value, path, field, into);
    } else if (IsSection(field)) {
      if (value.kind != JsonValue::Kind::kObject)
        return AddWrongType(value, path, "an object {...}");
      ReadMessage(value, path, *into.GetReflection()->MutableMessage(&into, &field));
    } else {
      ReadLeaf(value, path, field, std::string(value.raw), into);
    }
  }

  void ReadList(const JsonValue& value, const std::string& path, const FieldDescriptor& field,
                Message& into) {
    if (value.kind != JsonValue::Kind::kArray) return AddWrongType(value, path, "a list [...]");
    for (size_t i = 0; i < value.items.size(); ++i) {
      const JsonValue& item = value.items[i];
      const std::string item_path = path + "[" + std::to_string(i) + "]";
      if (!IsSection(field)) {
        ReadLeaf(item, item_path, field, "[" + std::string(item.raw) + "]", into);
      } else if (item.kind != JsonValue::Kind::kObject) {
        AddWrongType(item, item_path, "an object {...}");
      } else {
        ReadMessage(item, item_path, *into.GetReflection()->AddMessage(&into, &field));
      }
    }
  }

  // Whether a value is right for its field is protobuf's to say: each is parsed by itself.
  void ReadLeaf(const JsonValue& value, const std::string& path, const FieldDescriptor& field,
                const std::string& raw, Message& into) {
    const std::unique_ptr<Message> alone(into.New());
    const std::string json = "{\"" + field.name() + "\":" + raw + "}";
    if (!IsKindOf(value.kind, field)) return AddWrongType(value, path, Expected(field));
    if (!google::protobuf::util::JsonStringToMessage(json, alone.get()).ok()) {
      return Add(path, "must be " + Expected(field), value.raw);  // out of range, or no duration
    }
    into.MergeFrom(*alone);
  }

  void AddWrongType(const JsonValue& value, const std::string& path, const std::string& expected) {
    Add(path, "must be " + expected + ", not " + std::string(NameOfKind(value.kind)), value.raw);
  }

  static bool IsSection(const FieldDescriptor& field) {
    return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !IsDuration(field);
  }

  static bool IsDuration(const FieldDescriptor& field) {
    return field.message_type() != nullptr &&
           field.message_type()->full_name() == "google.protobuf.Duration";
  }

  static bool IsKindOf(JsonValue::Kind kind, const FieldDescriptor& field) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_BOOL:
        return kind == JsonValue::Kind::kBool;
      case FieldDescriptor::CPPTYPE_STRING:
      case FieldDescriptor::CPPTYPE_MESSAGE:  // a Duration
        return kind == JsonValue::Kind::kString;
      case FieldDescriptor::CPPTYPE_INT64:  // protobuf writes them in quotes
        return kind == JsonValue::Kind::kNumber || kind == JsonValue::Kind::kString;
      default:
        return kind == JsonValue::Kind::kNumber;
    }
  }

  static std::string Expected(const FieldDescriptor& field) {
    if (IsDuration(field)) return "a string of seconds such as \"10s\" or \"0.5s\"";
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_BOOL:
        return "true or false";
      case FieldDescriptor::CPPTYPE_STRING:
        return "a string";
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return "a number";
      case FieldDescriptor::CPPTYPE_INT64:
        return "a whole number of at most 64 bits";
      default:
        return "a whole number of at most 32 bits";
    }
  }

  std::string_view text_;
  std::string_view origin_;
  Violations violations_;
};

constexpr size_t kMaxConfigSize = 1024 * 1024;

}  // namespace

StatusOr<config::v1::Config> ParseConfig(std::string_view json, std::string_view origin,
                                         Violations* violations) {
  if (json.starts_with("\xEF\xBB\xBF")) json.remove_prefix(3);  // some editors' byte order mark
  if (json.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return InvalidField("", std::string(origin) + " is empty: write {} for the defaults");
  }
  WINNOW_ASSIGN_OR_RETURN(const JsonValue root, ParseJson(json, origin));
  if (root.kind != JsonValue::Kind::kObject) {
    return InvalidField("", JsonPlace(json, root.raw, origin) + ": must be an object {...}, not " +
                                std::string(NameOfKind(root.kind)));
  }
  config::v1::Config config;
  ConfigReader reader(json, origin);
  reader.ReadMessage(root, "", config);
  if (violations == nullptr) {
    WINNOW_RETURN_IF_ERROR(reader.violations().ToStatus());
    return config;
  }
  for (const Violation& each : reader.violations().all()) {
    violations->Add(each.field, each.description);
  }
  return config;
}

StatusOr<config::v1::Config> ReadConfigFile(const std::string& path, Violations* violations) {
  const auto text = ReadFile(path, kMaxConfigSize);
  if (!text.ok()) {
    return InvalidField("", "the config file " + path + " cannot be read: " +
                                winnow::Message(text.status()) + "; give the path of a JSON file");
  }
  return ParseConfig(*text, path, violations);
}

}  // namespace winnow
