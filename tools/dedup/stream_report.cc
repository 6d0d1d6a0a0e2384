// What the rules make of the whole real stream, without a store: documents by the stage that
// decided, and how many pairs of one story are brought together. The pairs are a silver set, which
// nobody read: documents of two channels within 24 h whose leads are nearly equal. Run in the
// repository, with WINNOW_DATA:
//
//   stream_report published|calibrated [URL MODEL]
//
// With a model each title is embedded, which takes minutes.
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "services/dedup/embedding/embedder_client.h"
#include "services/dedup/judge/replay.h"
#include "services/dedup/text/embedded_text_rules.h"
#include "tests/support/news/news_stream.h"

namespace {

using namespace winnow::dedup;

constexpr double kEqualLeads = 0.9;    // Jaccard from which leads count as equal
constexpr size_t kMinLeadTokens = 30;  // of both; a shorter lead may be a form
constexpr std::chrono::hours kWindow{24};
constexpr std::chrono::minutes kTime{30};

const char* NameOf(Stage stage) {
  switch (stage) {
    case Stage::kNone:
      return "unique";
    case Stage::kUrl:
      return "url";
    case Stage::kExact:
      return "exact";
    case Stage::kToken:
      return "token";
    case Stage::kLead:
      return "lead";
    case Stage::kEdit:
      return "edit";
    case Stage::kSemantic:
      return "semantic";
  }
  return "";
}

// Documents of two channels whose leads are nearly equal, by their leads alone.
class EqualLeads {
 public:
  // Seqs of the earlier ones; remembers this one.
  std::vector<int64_t> Next(int64_t seq, winnow::Time arrival, uint32_t channel,
                            const Fingerprint& print) {
    std::vector<int64_t> seqs;
    std::vector<index::Match> matches;
    const bool is_long = print.lead.size() >= kMinLeadTokens;
    const auto edge = leads_.EdgeAt(arrival - kWindow);
    if (is_long && edge) {
      leads_.FindSimilarLead(print.lead, leads_.lead_floor_bounds(), *edge, scratch_, matches);
    }
    for (const index::Match& match : matches) {
      if (leads_.channel(match.ref) != channel) seqs.push_back(leads_.seq(match.ref));
    }
    index::NewEntry entry{seq, arrival, channel, 0, 0, {}, {}, {}};
    if (is_long) entry.lead = print.lead;
    leads_.Append(entry);
    return seqs;
  }

 private:
  index::WindowIndex leads_{{.lead_floor = kEqualLeads}};
  index::ProbeScratch scratch_;
};

struct Model {
  std::unique_ptr<Embedder> embedder;
  index::Vector VectorOf(const std::string& title) const {
    if (!embedder || title.empty()) return {};
    const std::vector<std::string> texts = {title};
    return embedder->Embed(texts, std::chrono::steady_clock::now() + kTime).value().front();
  }
};

int Run(const Policy& policy, const Model& model) {
  const auto news = winnow::test::ReadNews("stream-2026-02a.jsonl.gz");
  if (news.empty()) {
    std::cout << "not run: WINNOW_DATA holds no news\n";
    return 0;
  }
  const TextRules rules = LoadTextRules().value();
  Replay replay(rules, policy, 0, model.embedder ? &model.embedder->calibration() : nullptr);
  EqualLeads equal_leads;
  std::map<std::string, uint32_t> channels;
  std::map<Stage, int> by_stage;
  std::vector<int64_t> roots = {0};
  int pairs = 0;
  int together = 0;
  for (const auto& item : news) {
    LogEntry entry;
    entry.seq = static_cast<int64_t>(roots.size());
    entry.document_id = std::to_string(entry.seq);
    entry.channel = item.channel;
    entry.title = rules.normalizer().Normalize(item.title);
    entry.lead = rules.NormalizedLead(item.snippet);
    entry.arrival_time = item.publish_time;
    entry.root_seq = entry.seq;
    entry.vector = model.VectorOf(entry.title);
    const Replay::Outcome outcome = replay.Next(entry);
    roots.push_back(outcome.root_seq);
    ++by_stage[outcome.stage];
    const auto channel =
        channels.try_emplace(item.channel, static_cast<uint32_t>(channels.size())).first->second;
    const Fingerprint print = rules.OfNormalized(entry.title, entry.lead, "");
    for (const int64_t other : equal_leads.Next(entry.seq, entry.arrival_time, channel, print)) {
      ++pairs;
      together += roots[static_cast<size_t>(other)] == outcome.root_seq ? 1 : 0;
    }
  }
  for (const auto& [stage, count] : by_stage) std::printf("%-9s %6d\n", NameOf(stage), count);
  std::printf("pairs with equal leads: %d, of one story by the rules: %d (%.3f)\n", pairs, together,
              static_cast<double>(together) / pairs);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if ((mode != "published" && mode != "calibrated") || (argc != 2 && argc != 4)) {
    std::cerr << "usage: stream_report published|calibrated [URL MODEL]\n";
    return 2;
  }
  Policy policy;
  policy.rule_mode = mode == "published" ? RuleMode::kPublished : RuleMode::kCalibrated;
  winnow::Metrics metrics;
  Model model;
  if (argc == 4) {
    EmbedderOptions options;
    options.url = argv[2];
    options.model = argv[3];
    options.timeout = std::chrono::seconds(60);
    auto embedder = MakeHttpEmbedder(options, metrics);
    if (!embedder.ok()) {
      std::cerr << embedder.status() << "\n";
      return 1;
    }
    model.embedder = *std::move(embedder);
  }
  return Run(policy, model);
}
