#include "services/classification/model/linear_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <codecvt>
#include <fstream>
#include <locale>
#include <sstream>

#include "services/classification/policy/policy.h"
#include "services/platform/base/format/json_reader.h"
#include "services/platform/base/text.h"
#include "tools/classification/recipe.h"

namespace winnow::classification {
namespace {

std::u32string Normal(std::string_view text) {
  std::u32string out;
  NormalizeComment(text, out);
  return out;
}

std::string Utf8(char32_t c) {
  return std::wstring_convert<std::codecvt_utf8<char32_t>, char32_t>().to_bytes(c);
}
std::u32string Utf32(const std::string& text) {
  return std::wstring_convert<std::codecvt_utf8<char32_t>, char32_t>().from_bytes(text);
}

TEST(Normalize, MakesWidthCaseAndInvisibleCharactersEqual) {
  EXPECT_EQ(Normal("ＡＢc  d\n"), Normal("abc d"));
  EXPECT_EQ(Normal("바\u200B보"), Normal("바보"));
  EXPECT_EQ(Normal("\u1107\u1161보"), Normal("바보"));
}

TEST(Normalize, KeepsJamoAsTheyWereTyped) { EXPECT_EQ(Normal("ㅋㅠ"), U" \u314B\u3160 "); }

TEST(Normalize, AgreesWithIcuOnEveryCharacterItTakesAsPlain) {
  constexpr std::pair<char32_t, char32_t> kPlain[] = {{0x21, 0x7E},     {0x2018, 0x201F},
                                                      {0x2600, 0x27BF}, {0x4E00, 0x9FFF},
                                                      {0xAC00, 0xD7A3}, {0x1F300, 0x1FAFF}};
  std::u32string all;
  for (const auto& [first, last] : kPlain) {
    for (char32_t c = first; c <= last; ++c) all += c;
  }
  for (const char32_t c : all) {
    const std::string text = Utf8(c);
    std::u32string expected = U" ";
    for (const char32_t folded : Utf32(NormalizeNfkcCaseFold(text))) {
      if (folded != U' ') expected += folded;
    }
    if (expected.size() > 1) expected += U' ';
    EXPECT_EQ(Normal(text), expected) << std::hex << static_cast<uint32_t>(c);
  }
}

TEST(Normalize, CutsRepeatsToTwo) { EXPECT_EQ(Normal("ㅋㅋㅋㅋㅋㅋ!!!!"), U" ㅋㅋ!! "); }

TEST(Normalize, MasksUrlsAndHandles) {
  EXPECT_EQ(Normal("see https://a.example/b?c=1 now"), U" see \uE000 now ");
  EXPECT_EQ(Normal("@some_one님 안녕"), U" \uE001님 안녕 ");
  EXPECT_EQ(Normal("a @ b"), U" a @ b ");
}

TEST(Normalize, TakesAnyBytes) {
  EXPECT_EQ(Normal(""), U" ");
  EXPECT_EQ(Normal("\xFF\xFE").substr(0, 2), U" \uFFFD");
  EXPECT_NO_THROW(Normal(std::string("\xEA\xB0", 2)));
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_FALSE(Normal(all).empty());
}

TEST(Normalize, CutsWhatNfkcMakesMuchLonger) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "\uFDFA";  // 18 characters each
  EXPECT_LE(Normal(text).size(), text.size() + 2);
  EXPECT_EQ(Normal(text.substr(0, 3 * 30)).find(U'\uFDFA'), std::u32string::npos);
  EXPECT_GT(Normal(text.substr(0, 3 * 30)).size(), 400u) << "short texts are whole";
}

TEST(Features, AreCountedAndStayInsideTheText) {
  const std::u32string text = Normal("ab c");
  size_t calls = 0;
  const size_t count = ForEachFeature(text, [&](uint32_t bucket, size_t begin, size_t end) {
    ++calls;
    EXPECT_LT(bucket, kBuckets);
    EXPECT_LT(begin, end);
    EXPECT_LE(end, text.size());
  });
  EXPECT_EQ(count, calls);
}

TEST(EmbeddedModel, HasTheSixHeadsInAtMostEightMegabytes) {
  std::vector<std::string> names;
  for (const Head& head : EmbeddedModel().heads()) names.push_back(head.name);
  EXPECT_THAT(names, testing::ElementsAre("toxic", "hate", "profanity", "offensive_en", "spam",
                                          "suggestion"));
  EXPECT_LE(kBuckets * EmbeddedModel().heads().size(), 8'000'000u - 1000);
}

float ScoreOf(const char* head, const char* text) {
  const LinearModel& model = EmbeddedModel();
  return model.Score(text)[static_cast<size_t>(model.Find(head))];
}

TEST(EmbeddedModel, TellsPlainCasesApart) {
  EXPECT_GT(ScoreOf("suggestion", "다음에는 기타 강의도 올려주세요"), 0.7);
  EXPECT_LT(ScoreOf("suggestion", "오늘도 재밌게 봤습니다"), 0.3);
  EXPECT_GT(ScoreOf("spam", "check out my channel and subscribe please http://x.example"), 0.7);
  EXPECT_LT(ScoreOf("spam", "this song is beautiful"), 0.5);
  EXPECT_LT(ScoreOf("profanity", "오늘 날씨가 참 좋네요"), 0.5);
}

CommentStatus StatusOf(const char* text) {
  return Decider(EmbeddedModel(), DefaultPolicy()).Decide(text).outcome.status;
}

// Their scores of what they never saw are those of most of their corpus: "toxic".
TEST(DefaultPolicy, AsksKoreanHeadsOfKoreanAlone) {
  EXPECT_EQ(StatusOf("Great video, thank you"), CommentStatus::kNormal);
  EXPECT_EQ(StatusOf("Lovely work. The part about the south wall was new to me."),
            CommentStatus::kNormal);
  EXPECT_EQ(StatusOf("make a video about compost heating"), CommentStatus::kSuggestion);
  EXPECT_EQ(StatusOf("check out my channel and subscribe please http://x.example"),
            CommentStatus::kFiltered);
  EXPECT_EQ(StatusOf("바보 같은 소리 하고 있네, 꺼져라"), CommentStatus::kFiltered);
  EXPECT_EQ(StatusOf("nice one, 바보 같은 소리 하고 있네 꺼져라"), CommentStatus::kFiltered);
}

TEST(EmbeddedModel, ExplainsByNgramsOfTheText) {
  const LinearModel& model = EmbeddedModel();
  const auto head = static_cast<size_t>(model.Find("suggestion"));
  const auto explained = model.Explain("Please make a video about trains", head, 3);
  ASSERT_EQ(explained.size(), 3u);
  EXPECT_GE(std::abs(explained[0].weight), std::abs(explained[2].weight));
  for (const Contribution& one : explained) {
    EXPECT_NE(std::string(" please make a video about trains ").find(one.ngram), std::string::npos)
        << one.ngram;
  }
  EXPECT_TRUE(model.Explain("", head, 3).empty());
}

TEST(EmbeddedModel, ScoresNothingAndVeryMuch) {
  for (const float score : EmbeddedModel().Score("")) EXPECT_TRUE(score >= 0 && score <= 1);
  std::string much;
  while (much.size() < 100'000) much += "아무 말이나 길게 ";
  for (const float score : EmbeddedModel().Score(much)) EXPECT_TRUE(score >= 0 && score <= 1);
}

TEST(LinearModel, RefusesBytesThatTheTrainerDidNotWrite) {
  const std::vector<int8_t> weights(kBuckets, 1);
  const Head head{.name = "one", .scale = 0.5};
  std::string bytes = LinearModel::Serialize("v", std::vector<Head>{head}, weights);
  ASSERT_TRUE(LinearModel::Parse(bytes).ok());
  EXPECT_EQ(LinearModel::Parse(bytes)->heads()[0].scale, 0.5);
  EXPECT_FALSE(LinearModel::Parse(bytes.substr(0, bytes.size() - 1)).ok());
  EXPECT_FALSE(LinearModel::Parse("").ok());
  bytes[100] ^= 1;
  EXPECT_FALSE(LinearModel::Parse(bytes).ok());
}

std::string TrainTiny() {
  std::vector<LabelledText> texts;
  for (int i = 0; i < 60; ++i) {
    texts.push_back({"please make more of number " + std::to_string(i), true});
    texts.push_back({"this was nice, number " + std::to_string(i), false});
  }
  const std::vector<Example> examples = MakeExamples(texts, 5);
  std::vector<const Example*> all;
  for (const Example& e : examples) all.push_back(&e);
  const std::vector<Linear> aids = {Train(all, {}, {.cost = 0.5})};
  const TrainedHead head = TrainHead({"tiny", {"itself"}, {.other = 0.3}}, examples, aids);
  EXPECT_GT(head.measured.macro_f1, 0.8);
  return MakeModel("tiny-1", {head}) + MakeModelCard("tiny-1", {head}, "");
}

TEST(Trainer, GivesTheSameBytesTwice) { EXPECT_TRUE(TrainTiny() == TrainTiny()); }

TEST(Trainer, CalibratesToTheShareOfPositives) {
  std::vector<double> scores;
  std::unique_ptr<bool[]> positive(new bool[1000]);
  for (int i = 0; i < 1000; ++i) {
    scores.push_back(i % 2 == 0 ? -1 : 1);
    positive[static_cast<size_t>(i)] = i % 2 == 0 ? i % 20 == 0 : i % 10 != 1;
  }
  const Platt platt = Calibrate(scores, {positive.get(), 1000});
  EXPECT_NEAR(Probability(platt, -1), 0.1, 0.01);
  EXPECT_NEAR(Probability(platt, 1), 0.8, 0.01);
}

TEST(SuggestionSet, HasAThousandExamplesOfBothLanguagesAndKinds) {
  const auto texts = ReadSuggestions("services/classification/model/data/suggestions.txt");
  EXPECT_GE(texts.size(), 1000u);
  size_t positive = 0;
  size_t korean = 0;
  for (const LabelledText& one : texts) {
    positive += one.positive;
    korean += static_cast<unsigned char>(one.text[0]) >= 0xE3;
  }
  EXPECT_GT(positive, 400u);
  EXPECT_GT(korean, 400u);
  EXPECT_EQ(MakeExamples(texts, 5).size(), texts.size()) << "two are equal once normalised";
}

TEST(JsonReader, ReadsWhatItIsAskedAndSkipsTheRest) {
  JsonReader json(R"( {"a": "x\u00e9\ud83d\ude00\n", "b": [1, -2.5e3, {"c": null}], "d": true} )");
  std::string a;
  int64_t first = 0;
  bool d = false;
  EXPECT_TRUE(json.ReadObject([&](std::string_view name) {
    if (name == "a") return json.ReadString(a);
    if (name == "d") return json.ReadBool(d);
    return json.ReadArray([&] {
      return first == 0 && json.Peek() == JsonReader::Kind::kNumber ? json.ReadInteger(first)
                                                                    : json.Skip();
    });
  })) << json.error();
  EXPECT_EQ(a, "x\u00e9\U0001F600\n");
  EXPECT_EQ(first, 1);
  EXPECT_TRUE(d);
  EXPECT_EQ(json.Peek(), JsonReader::Kind::kEnd);
}

TEST(JsonReader, RefusesWhatIsNoJson) {
  for (const char* text : {"{", "[1,]", "{\"a\":1,}", "[1 2]", "{\"a\" 1}", "\"\n\"", "\"\\x\"",
                           "01", "1.", "nul", "{a:1}", "\"", "[", "-", "\"\\u12\""}) {
    JsonReader json(text);
    EXPECT_FALSE(json.Skip()) << text;
    EXPECT_EQ(json.Peek(), JsonReader::Kind::kError) << text;
  }
  const std::string brackets(100, '[');
  JsonReader deep(brackets);
  EXPECT_FALSE(deep.Skip());
}

TEST(JsonReader, QuotesWhatItReadsBack) {
  const std::string text = "a\"\\\n\t\x01\x7F é 가";
  const std::string quoted = JsonQuoted(text);
  JsonReader json(quoted);
  std::string back;
  EXPECT_TRUE(json.ReadString(back));
  EXPECT_EQ(back, text);
  EXPECT_EQ(JsonQuoted("\xFF"), "\"\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace winnow::classification
