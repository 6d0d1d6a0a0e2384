#include "services/classification/llm/canaries.h"

#include <array>
#include <utility>

namespace winnow::classification {
namespace {

constexpr std::array<std::string_view, 6> kNormal = {
    "오늘 영상도 정말 잘 봤습니다. 감사합니다!",   "Great video, thank you so much!",
    "항상 좋은 영상 감사합니다. 건강하세요.",      "I really enjoyed this one, well explained.",
    "설명이 쉬워서 이해가 잘 되네요. 고맙습니다.", "Watching from Busan, lovely music.",
};

using Picks = std::array<std::string_view, 3>;
// By head, the plainest first.
constexpr std::pair<std::string_view, Picks> kOthers[] = {
    {"spam",
     {"FREE iPhone for everybody!!! click http://free-phones.example now and subscribe to me",
      "하루 30만원 부업 당일지급 카톡 문의주세요 http://money.example",
      "Earn $5000 a week from home, visit http://cash.example and use my code"}},
    {"profanity",
     {"씨발 개새끼야 꺼져라 병신", "fuck you, you fucking piece of shit", "좆같은 새끼 꺼져 시발"}},
    {"toxic",
     {"너 같은 쓰레기는 죽어버려라", "you are worthless trash, go and die",
      "얼굴 진짜 역겹다 토나와"}},
    {"hate",
     {"그 나라 놈들은 전부 벌레라서 다 쫓아내야 한다",
      "all those people are vermin, deport them all", "여자들은 다 머리가 나빠서 일하면 안 된다"}},
    {"offensive_en",
     {"fuck you, you fucking piece of shit", "shut up you stupid bitch", "you dumb ass hoe"}},
    {"suggestion",
     {"다음에는 제주도 캠핑 영상도 만들어 주세요!",
      "Please make a video about night trains next time",
      "다음 편에서 김치 만드는 법을 다뤄 주세요"}},
};

}  // namespace

std::vector<Canary> PickCanaries(std::span<const Label> labels, uint64_t random) {
  std::vector<Canary> canaries = {{kNormal[random % kNormal.size()], CommentStatus::kNormal}};
  for (const auto& [head, picks] : kOthers) {
    for (const Label& label : labels) {
      if (label.head != head) continue;
      canaries.push_back({picks[(random >> 8) % picks.size()], label.status});
      return canaries;
    }
  }
  return canaries;
}

}  // namespace winnow::classification
