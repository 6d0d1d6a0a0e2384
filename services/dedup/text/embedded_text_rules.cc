#include "services/dedup/text/embedded_text_rules.h"

#include <string>
#include <string_view>

#include "services/platform/base/embedded_file.h"

namespace winnow::embedded {
extern const std::span<const File> dedup_data;
}  // namespace winnow::embedded

namespace winnow::dedup {
namespace {

StatusOr<std::string_view> FindTable(std::string_view name) {
  for (const embedded::File& file : embedded::dedup_data) {
    if (file.name == name) return file.text;
  }
  return Internal("table " + std::string(name) + " is not compiled in");
}

}  // namespace

StatusOr<Normalizer> LoadNormalizer() {
  WINNOW_ASSIGN_OR_RETURN(const std::string_view boilerplate, FindTable("boilerplate.txt"));
  WINNOW_ASSIGN_OR_RETURN(const std::string_view hanja, FindTable("hanja.txt"));
  WINNOW_ASSIGN_OR_RETURN(Boilerplate rules, Boilerplate::Parse(boilerplate));
  WINNOW_ASSIGN_OR_RETURN(HanjaTable readings, HanjaTable::Parse(hanja));
  return Normalizer(std::move(rules), std::move(readings));
}

StatusOr<TextRules> LoadTextRules() {
  WINNOW_ASSIGN_OR_RETURN(const std::string_view list, FindTable("token_order.txt"));
  WINNOW_ASSIGN_OR_RETURN(Normalizer normalizer, LoadNormalizer());
  WINNOW_ASSIGN_OR_RETURN(TokenOrder order, TokenOrder::Parse(list));
  WINNOW_ASSIGN_OR_RETURN(TitleWords words, LoadTitleWords());
  return TextRules(std::move(normalizer), std::move(order), std::move(words));
}

StatusOr<TitleWords> LoadTitleWords() {
  WINNOW_ASSIGN_OR_RETURN(const std::string_view table, FindTable("title_words.txt"));
  return TitleWords::Parse(table);
}

}  // namespace winnow::dedup
