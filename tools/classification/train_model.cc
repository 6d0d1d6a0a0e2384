// train_comment_model DATA OUT: learns the heads of the embedded classifier from DATA (the folder
// of the corpora) and OUT/suggestions.txt, and writes OUT/comments.bin and OUT/model_card.md.
// By hand, not part of a build.
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>

#include "tools/classification/recipe.h"

namespace {

using namespace winnow::classification;

constexpr const char* kVersion = "embedded-1";

class Trainer {
 public:
  Trainer(std::string data, std::string out) : data_(std::move(data)), out_(std::move(out)) {}

  void Run() {
    std::vector<TrainedHead> heads;
    for (const HeadRecipe& recipe : Recipes()) {
      std::vector<Linear> aids;
      for (const std::string& aid : recipe.aids) aids.push_back(Aid(aid));
      heads.push_back(TrainHead(recipe, ExamplesOf(recipe.name), aids));
      std::printf("%-13s macro-F1 %.4f of %zu\n", recipe.name.c_str(),
                  heads.back().measured.macro_f1, heads.back().measured.examples);
    }
    const std::string model = MakeModel(kVersion, heads);
    Write("comments.bin", model);
    Write("model_card.md", MakeModelCard(kVersion, heads, model));
  }

 private:
  const std::vector<Example>& ExamplesOf(const std::string& head) {
    const auto found = examples_.find(head);
    if (found != examples_.end()) return found->second;
    const auto texts =
        head == "suggestion" ? ReadSuggestions(out_ + "/suggestions.txt") : ReadCorpus(data_, head);
    return examples_[head] = MakeExamples(texts, 5);
  }

  // Of its whole corpus, without aids of its own: another corpus measures the head it helps.
  const Linear& Aid(const std::string& name) {
    const auto found = aids_.find(name);
    if (found != aids_.end()) return found->second;
    std::vector<const Example*> all;
    for (const Example& e : ExamplesOf(name)) all.push_back(&e);
    return aids_[name] = Train(all, {}, {.cost = 0.5});
  }

  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream file(out_ + "/" + name, std::ios::binary);
    file << bytes;
    file.close();
    if (!file) throw std::runtime_error("cannot write " + out_ + "/" + name);
  }

  const std::string data_;
  const std::string out_;
  std::map<std::string, std::vector<Example>> examples_;
  std::map<std::string, Linear> aids_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: train_comment_model DATA OUT\n");
    return 2;
  }
  try {
    Trainer(argv[1], argv[2]).Run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "train_comment_model: %s\n", e.what());
    return 1;
  }
  return 0;
}
