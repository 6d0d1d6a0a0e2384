#include "services/app/import/refusal.h"

namespace winnow::app {
namespace {

// "items[3].title" -> "title"
std::string LastOf(const std::string& field) {
  const size_t dot = field.rfind('.');
  return dot == std::string::npos ? field : field.substr(dot + 1);
}

}  // namespace

Refusal ToRefusal(const Status& error) {
  const auto violations = ViolationsOf(error);
  if (violations.empty()) return {"refused by the server", Message(error)};
  std::string detail;
  for (const Violation& violation : violations) {
    if (!detail.empty()) detail += "; ";
    detail += LastOf(violation.field) + ": " + violation.description;
  }
  return {LastOf(violations.front().field), detail};
}

}  // namespace winnow::app
