#include "services/app/client/print.h"

#include <google/protobuf/util/json_util.h>

#include <iostream>

#include "services/app/client/exit_code.h"
#include "services/app/client/terminal.h"
#include "services/platform/base/timestamp.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::app {

int PrintJson(const google::protobuf::Message& message) {
  std::string text;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  const auto printed = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!printed.ok()) {
    std::cerr << "winnow: the answer cannot be printed as JSON: " << printed.ToString() << '\n';
    return kFailed;
  }
  std::cout << text << std::endl;
  return std::cout ? kOk : kFailed;
}

bool PrintArticle(const newsfeed::v1::Article& article) {
  const std::string& source =
      article.source_name().empty() ? article.source() : article.source_name();
  std::cout << ShortTime(article.publish_time()) << "  " << Printable(source) << ": "
            << Printable(article.title()) << '\n';
  if (article.citation_count() > 0) {
    std::cout << "                     also reported by";
    for (int i = 0; i < article.citation_channels_size(); ++i) {
      std::cout << (i > 0 ? ", " : " ") << Printable(article.citation_channels(i));
    }
    std::cout << '\n';
  }
  return static_cast<bool>(std::cout);
}

void PrintNextPage(const std::string& token) {
  if (!token.empty()) std::cout << "next page: --page-token " << token << '\n';
}

std::string ShortTime(const google::protobuf::Timestamp& time) {
  const auto parsed = FromTimestamp(time);
  if (!parsed.ok()) return "an unknown time";
  std::string text = FormatTime(std::chrono::floor<std::chrono::seconds>(*parsed));
  if (text.size() == 20) {  // years 1 to 9999: 2026-02-01T09:30:00Z
    text[10] = ' ';
    text.pop_back();
  }
  return text;
}

}  // namespace winnow::app
