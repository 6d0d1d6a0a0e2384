#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/timestamp.pb.h>

#include <string>

#include "winnow/newsfeed/v1/newsfeed.pb.h"

namespace winnow::app {

// The message as the API's JSON, one line on standard output; an ExitCode.
int PrintJson(const google::protobuf::Message& message);

// One article as one or two lines; false when standard output takes no more.
bool PrintArticle(const newsfeed::v1::Article& article);

// How to ask for the next page, if there is one.
void PrintNextPage(const std::string& token);

// "2026-02-01 09:30:00", UTC.
std::string ShortTime(const google::protobuf::Timestamp& time);

}  // namespace winnow::app
