// The embedded classifier on one core: comments a second and the tail of a single one, over the
// Korean and English comments of a folder of corpora (WINNOW_DATA/comments).
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "services/classification/model/linear_model.h"
#include "tools/classification/corpus.h"

namespace {

using namespace winnow::classification;
using Steady = std::chrono::steady_clock;

double Seconds(Steady::duration d) { return std::chrono::duration<double>(d).count(); }

// Of this thread's processor: what others run beside does not count.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

int main() {
  const char* data = std::getenv("WINNOW_DATA");
  const std::string directory =
      std::string(data == nullptr ? "../shared/data" : data) + "/comments";
  std::vector<std::string> texts;
  for (const char* head : {"toxic", "hate", "profanity", "offensive_en", "spam"}) {
    for (LabelledText& one : ReadCorpus(directory, head)) texts.push_back(std::move(one.text));
  }
  const LinearModel& model = EmbeddedModel();
  double sum = 0;
  std::vector<double> rates;
  for (int round = 0; round < 7; ++round) {
    const double begin = CpuSeconds();
    for (const std::string& text : texts) sum += model.Score(text)[0];
    rates.push_back(double(texts.size()) / (CpuSeconds() - begin));
  }
  std::sort(rates.begin(), rates.end());
  std::vector<double> each;
  for (const std::string& text : texts) {
    const auto begin = Steady::now();
    sum += model.Score(text)[0];
    each.push_back(1e6 * Seconds(Steady::now() - begin));
  }
  std::sort(each.begin(), each.end());
  std::printf("%zu comments, %.0f a second of CPU (median of 7, %.0f to %.0f)\n", texts.size(),
              rates[3], rates.front(), rates.back());
  std::printf("one comment: p50 %.2f us, p99 %.2f us (checksum %.3f)\n", each[each.size() / 2],
              each[each.size() * 99 / 100], sum);
  return 0;
}
