#include "services/classification/comments/comment_records.h"

#include <algorithm>

#include "services/platform/base/ascii.h"

namespace winnow::classification {
namespace {

bool IsIdCharacter(char c) { return IsAsciiAlnum(c) || c == '_' || c == '.' || c == '-'; }

}  // namespace

const char* NameOf(CommentStatus status) {
  switch (status) {
    case CommentStatus::kNormal:
      return "normal";
    case CommentStatus::kFiltered:
      return "filtered";
    case CommentStatus::kSuggestion:
      return "content_suggestion";
    case CommentStatus::kNone:
      break;
  }
  return "unclassified";
}

const char* NameOf(Source source) {
  static constexpr const char* kNames[] = {"none",     "rule",     "model",
                                           "fallback", "external", "override"};
  return kNames[static_cast<size_t>(source)];
}

const char* NameOf(Failure failure) {
  static constexpr const char* kNames[] = {"none",   "transient", "rate_limit", "quota",
                                           "auth",   "truncated", "schema",     "refused",
                                           "canary", "deadline",  "budget"};
  return kNames[static_cast<size_t>(failure)];
}

bool IsVideoId(const std::string& id) {
  return !id.empty() && id.size() <= 128 && std::all_of(id.begin(), id.end(), IsIdCharacter);
}

bool IsCommentId(const std::string& id) { return IsVideoId(id) && id != "_metadata"; }

bool IsReason(const std::string& reason) {
  return reason.size() <= 64 && std::all_of(reason.begin(), reason.end(), [](char c) {
           return IsAsciiLowerAlnum(c) || c == '_';
         });
}

}  // namespace winnow::classification
