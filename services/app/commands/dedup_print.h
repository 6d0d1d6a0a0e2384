#pragma once

#include <string>

#include "winnow/dedup/v1/dedup.pb.h"

// Dedup's answers as text for people.
namespace winnow::app {

// "STAGE_TOKEN" -> "token"
std::string StageName(dedup::v1::Stage stage);
const char* VerdictName(dedup::v1::Verdict verdict);

// The decision and its candidates, a line each.
void PrintDecision(const dedup::v1::Decision& decision);

// The decision in one line, with the document; false when standard output takes no more.
bool PrintDecisionLine(const dedup::v1::Decision& decision);

}  // namespace winnow::app
