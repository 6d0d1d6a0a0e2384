// The examples that the embedded model learns from and is measured by, as JSON lines of head, fold,
// label and text, for classifiers of others (classify_peers.py): classify_examples DATA.
#include <cstdio>
#include <exception>
#include <set>
#include <string>

#include "services/classification/model/linear_model.h"
#include "services/platform/base/format/json_reader.h"
#include "tools/classification/corpus.h"

int main(int argc, char** argv) {
  using namespace winnow::classification;
  if (argc != 2) {
    std::fprintf(stderr, "usage: classify_examples DATA\n");
    return 2;
  }
  try {
    for (const char* head : {"toxic", "hate", "profanity", "offensive_en", "spam"}) {
      std::set<std::u32string> seen;
      for (const LabelledText& one : ReadCorpus(argv[1], head)) {
        std::u32string normal;
        NormalizeComment(one.text, normal);
        if (!seen.insert(normal).second) continue;
        const Example example = MakeExamples({one}, 5).at(0);
        std::printf("{\"head\":\"%s\",\"fold\":%u,\"positive\":%s,\"text\":%s}\n", head,
                    example.fold, one.positive ? "true" : "false",
                    winnow::JsonQuoted(one.text).c_str());
      }
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
