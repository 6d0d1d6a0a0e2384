#include "services/app/commands/dedup_print.h"

#include <iostream>

#include "services/app/client/print.h"
#include "services/app/client/terminal.h"
#include "services/platform/base/ascii.h"

namespace winnow::app {
namespace {

void PrintVerdict(const dedup::v1::Decision& decision) {
  std::cout << VerdictName(decision.verdict());
  if (decision.verdict() == dedup::v1::VERDICT_DUPLICATE) {
    std::cout << " of " << Printable(decision.original_id()) << " by "
              << StageName(decision.stage()) << ", similarity " << decision.similarity();
  }
}

}  // namespace

std::string StageName(dedup::v1::Stage stage) {
  std::string name = dedup::v1::Stage_Name(stage);
  name.erase(0, std::string("STAGE_").size());
  return LowerAscii(name);
}

const char* VerdictName(dedup::v1::Verdict verdict) {
  return verdict == dedup::v1::VERDICT_DUPLICATE ? "duplicate" : "unique";
}

void PrintDecision(const dedup::v1::Decision& decision) {
  PrintVerdict(decision);
  std::cout << '\n';
  for (const auto& candidate : decision.candidates()) {
    std::cout << "  candidate " << Printable(candidate.document_id()) << " of "
              << Printable(candidate.channel()) << ", title jaccard "
              << candidate.scores().title_jaccard() << '\n';
  }
}

bool PrintDecisionLine(const dedup::v1::Decision& decision) {
  std::cout << ShortTime(decision.arrival_time()) << "  " << Printable(decision.channel()) << "  "
            << Printable(decision.document_id()) << "  ";
  PrintVerdict(decision);
  std::cout << std::endl;  // a follower sees it at once
  return static_cast<bool>(std::cout);
}

}  // namespace winnow::app
