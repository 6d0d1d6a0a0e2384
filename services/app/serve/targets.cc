#include "services/app/serve/targets.h"

#include <algorithm>
#include <iterator>

#include "services/classification/service.h"
#include "services/collector/service.h"
#include "services/dedup/service.h"
#include "services/newsfeed/service.h"
#include "services/polling/service.h"

namespace winnow::app {
namespace {

constexpr TargetRow kRows[] = {
    {"collector", collector::MakeCollectorTarget, collector::CollectorMigrations},
    {"dedup", dedup::MakeDedupTarget, dedup::DedupMigrations, dedup::CheckDedupConfig},
    {"newsfeed", newsfeed::MakeNewsFeedTarget, newsfeed::NewsFeedMigrations},
    {"classification", classification::MakeClassificationTarget,
     classification::ClassificationMigrations},
    {"polling", polling::MakePollingTarget, polling::PollingMigrations},
};

}  // namespace

std::span<const TargetRow> AllTargets() { return kRows; }

std::vector<TargetRow> ChosenTargets(const config::v1::Config& config) {
  const auto is_chosen = [&](const TargetRow& row) {
    return std::any_of(config.targets().begin(), config.targets().end(),
                       [&](const std::string& name) { return name == "all" || name == row.name; });
  };
  std::vector<TargetRow> chosen;
  std::copy_if(std::begin(kRows), std::end(kRows), std::back_inserter(chosen), is_chosen);
  return chosen;
}

}  // namespace winnow::app
