#include "services/app/import/report.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <cstdio>
#include <iostream>

#include "services/app/client/terminal.h"

namespace winnow::app {
namespace {

void PrintRow(const char* name, int64_t count, const std::string& note = "") {
  std::printf("  %-16s %11s%s\n", name, WithCommas(count).c_str(), note.c_str());
}

std::string Reasons(const Tally& tally) {
  std::string out;
  for (const auto& [reason, count] : tally.refused_by_reason) {
    out += (out.empty() ? "   " : ", ") + Printable(reason) + " " + WithCommas(count);
  }
  return out;
}

using Fields = google::protobuf::Map<std::string, google::protobuf::Value>;

void AddFields(const FieldReport& report, Fields& out) {
  Fields& unknown = *out["unknown_fields"].mutable_struct_value()->mutable_fields();
  Fields& suggested = *out["suggested_fields"].mutable_struct_value()->mutable_fields();
  for (const auto& [name, field] : report.unknown()) {
    unknown[name].set_number_value(static_cast<double>(field.count));
    if (!field.suggestion.empty()) suggested[name].set_string_value(field.suggestion);
  }
  out["other_unknown_fields"].set_number_value(static_cast<double>(report.others()));
  Fields& taken = *out["alias_fields"].mutable_struct_value()->mutable_fields();
  Fields& overruled = *out["ignored_alias_fields"].mutable_struct_value()->mutable_fields();
  for (const auto& [name, alias] : report.aliases()) {
    taken[name].set_number_value(static_cast<double>(alias.taken));
    overruled[name].set_number_value(static_cast<double>(alias.overruled));
  }
}

}  // namespace

void PrintReport(const std::string& title, const Tally& tally, const FieldReport& fields,
                 std::chrono::duration<double> time) {
  std::printf("%s: %.1f s\n", Printable(title).c_str(), time.count());
  PrintRow("lines", tally.lines);
  PrintRow("refused", tally.refused(), Reasons(tally));
  PrintRow("already present", tally.already_present);
  PrintRow("accepted", tally.accepted);
  PrintRow("duplicates", tally.duplicates);
  if (tally.undecided() > 0) PrintRow("undecided", tally.undecided());
  for (const std::string& line : fields.Summary()) std::printf("  %s\n", line.c_str());
  std::fflush(stdout);
}

void PrintJsonReport(const Tally& tally, const FieldReport& field_report,
                     std::chrono::duration<double> time) {
  google::protobuf::Struct report;
  auto& fields = *report.mutable_fields();
  const auto set = [&fields](const char* name, int64_t count) {
    fields[name].set_number_value(static_cast<double>(count));
  };
  set("lines", tally.lines);
  set("refused", tally.refused());
  set("already_present", tally.already_present);
  set("accepted", tally.accepted);
  set("duplicates", tally.duplicates);
  set("undecided", tally.undecided());
  fields["seconds"].set_number_value(time.count());
  auto& reasons = *fields["refused_by_reason"].mutable_struct_value()->mutable_fields();
  for (const auto& [reason, count] : tally.refused_by_reason) {
    reasons[reason].set_number_value(static_cast<double>(count));
  }
  AddFields(field_report, fields);
  std::string text;
  const auto printed = google::protobuf::util::MessageToJsonString(report, &text);
  std::cout << (printed.ok() ? text : printed.ToString()) << std::endl;
}

}  // namespace winnow::app
