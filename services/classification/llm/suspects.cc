#include "services/classification/llm/suspects.h"

#include <algorithm>
#include <string>

#include "services/platform/base/text.h"

namespace winnow::classification {
namespace {

// All in lower case and without white space, punctuation or invisible characters, as Squeeze makes
// the text: "i g n o r e   previous" is found too. A pair is suspect when both sides are there.
constexpr std::string_view kVerbs[] = {
    "ignore",     "disregard", "forget", "override", "bypass", "donotfollow", "dontfollow",
    "stopfollow", "replace",   "reveal", "repeat",   "print",  "neglect",     "discard",
    "violate",    "change",    "update", "obey",     "follow", "무시",        "잊어",
    "잊고",       "따르지",    "어기",   "어겨",     "우회",   "건너뛰",      "바꿔",
    "변경",       "공개",      "알려",   "따라",     "무효",   "취소",        "삭제하고",
};
constexpr std::string_view kObjects[] = {
    "instruction", "prompt",     "yourrules",   "therules",   "allrules", "previousrule",
    "guideline",   "systemmess", "abovetext",   "yourtask",   "thetask",  "classifier",
    "moderationp", "safetyp",    "earliertext", "yourpolicy", "지시",     "명령",
    "프롬프트",    "시스템",     "지침",        "규칙을",     "규칙은",   "규칙따",
    "위의내용",    "위내용",     "분류기준",    "정책을",     "모델",
};
constexpr std::string_view kAlone[] = {
    "systemprompt",
    "systemmessage",
    "youarenow",
    "youarenolonger",
    "actasa",
    "pretendyouare",
    "pretendtobe",
    "jailbreak",
    "developermode",
    "danmode",
    "languagemodel",
    "imstart",
    "imend",
    "beginoftext",
    "startheader",
    "newinstruction",
    "respondwith",
    "respondonly",
    "replywith",
    "replyonly",
    "outputonly",
    "answeronly",
    "answerwithonly",
    "labelthis",
    "labelall",
    "labelevery",
    "classifythis",
    "classifyall",
    "classifyevery",
    "classifyme",
    "markthis",
    "markall",
    "markevery",
    "contentsuggest",
    "asnormal",
    "responseformat",
    "jsonschema",
    "endofcomment",
    "endofinput",
    "endofuser",
    "alltheother",
    "allothercomment",
    "followingcomment",
    "thelabelis",
    "labelisnormal",
    "beginadmin",
    "adminoverride",
    "nonce",
    "toolcall",
    "functioncall",
    "시스템프롬프트",
    "시스템메시지",
    "너는이제",
    "넌이제부터",
    "당신은이제",
    "지금부터너는",
    "지금부터당신은",
    "역할을맡",
    "역할극",
    "탈옥",
    "개발자모드",
    "관리자모드",
    "언어모델",
    "정상으로분류",
    "정상으로표시",
    "으로분류",
    "로분류해",
    "라고분류",
    "라고답",
    "라고만",
    "로만답",
    "만출력",
    "로출력",
    "출력하라",
    "출력해",
    "라벨",
    "레이블",
    "모든댓글",
    "다른댓글",
    "나머지댓글",
    "댓글끝",
    "입력끝",
    "새로운지시",
    "새지시",
    "인공지능",
    "필터링하지마",
    "필터하지마",
    "검열하지마",
    "chatgpt",
    "gpt야",
    "ai야",
    "어시스턴트",
    "assistant",
};
// In the text as it is typed, but for case: what Squeeze takes away.
constexpr std::string_view kMarks[] = {
    "<|",     "|>",    "[inst", "[/inst",  "</s>",  "<<sys",   "###",
    "```",    "\"1\"", "{\"",   "\"}",     "']",    "system:", "user:",
    "human:", "ai:",   "</",    "<system", "<user", "---end",  "=== ",
};

// Letters and digits only; what stands between or is invisible goes.
std::string Squeeze(std::string_view normal) {
  std::string squeezed;
  for (size_t i = 0; i < normal.size();) {
    const auto byte = static_cast<unsigned char>(normal[i]);
    size_t length = 1;
    if (byte >= 0xF0) {
      length = 4;
    } else if (byte >= 0xE0) {
      length = 3;
    } else if (byte >= 0xC0) {
      length = 2;
    }
    length = std::min(length, normal.size() - i);
    const bool letter = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z');
    // Of the others: general punctuation (E2 80, E2 81), CJK punctuation (E3 80) and the invisible
    // soft hyphen, joiners and byte order mark.
    const std::string_view character = normal.substr(i, length);
    const bool mark = character.starts_with("\xE2\x80") || character.starts_with("\xE2\x81") ||
                      character.starts_with("\xE3\x80") || character == "\xC2\xAD" ||
                      character == "\xEF\xBB\xBF" || character == "\xC2\xB7";
    if (letter || (byte >= 0x80 && !mark)) squeezed += character;
    i += length;
  }
  return squeezed;
}

template <size_t N>
bool HoldsOne(std::string_view text, const std::string_view (&words)[N]) {
  return std::any_of(std::begin(words), std::end(words), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

}  // namespace

bool IsInjectionSuspect(std::string_view text) {
  const std::string normal = NormalizeNfkcCaseFold(text);
  if (HoldsOne(normal, kMarks)) return true;
  const std::string squeezed = Squeeze(normal);
  return HoldsOne(squeezed, kAlone) || (HoldsOne(squeezed, kVerbs) && HoldsOne(squeezed, kObjects));
}

}  // namespace winnow::classification
