#include "services/collector/sources/source_sql.h"

namespace winnow::collector {
namespace {

class Reader {
 public:
  explicit Reader(const pqxx::row& row) : row_(row) {}
  std::string Text() {
    const pqxx::field field = Next();
    return field.is_null() ? std::string() : std::string(field.c_str(), field.size());
  }
  int64_t Number() { return Next().as<int64_t>(); }
  bool Flag() { return Next().as<bool>(); }
  Time At() { return pg::ToTime(Next()); }
  pqxx::field Next() { return row_[column_++]; }

 private:
  const pqxx::row& row_;
  int column_ = 0;
};

}  // namespace

std::string ToArrayLiteral(const std::vector<std::string>& words) {
  pg::Array array;
  for (const std::string& word : words) array.Add(word);
  return array.ToString();
}

Source ToSource(const pqxx::row& row) {
  using std::chrono::seconds;
  Reader in(row);
  Source out;
  out.id = in.Text();
  out.ns = in.Text();
  out.display_name = in.Text();
  out.kind = static_cast<SourceKind>(in.Number());
  for (std::string* text : {&out.credential, &out.query, &out.url, &out.country, &out.language,
                            &out.category, &out.timeframe, &out.channel}) {
    *text = in.Text();
  }
  out.page_size = static_cast<int>(in.Number());
  out.max_pages = static_cast<int>(in.Number());
  out.by_similarity = in.Flag();
  out.skip_images = in.Flag();
  out.categories = pg::ToTexts(in.Next());
  out.interval = seconds(in.Number());
  out.max_interval = seconds(in.Number());
  out.current_interval = seconds(in.Number());
  out.state = static_cast<SourceState>(in.Number());
  out.revision = in.Number();
  out.failures = static_cast<int>(in.Number());
  out.feed_etag = in.Text();
  out.feed_modified = in.Text();
  out.create_time = in.At();
  out.update_time = in.At();
  out.next_run_time = in.At();
  out.success_time = pg::ToOptionalTime(in.Next());
  out.requested_run_id = in.Text();
  out.run_id = in.Text();
  out.unread_pages = in.Flag();
  return out;
}

Run ToRun(const pqxx::row& row) {
  Reader in(row);
  Run out;
  out.id = in.Text();
  out.source_id = in.Text();
  out.ns = in.Text();
  out.kind = static_cast<SourceKind>(in.Number());
  out.requested = in.Flag();
  out.outcome = static_cast<Outcome>(in.Number());
  out.code = in.Text();
  out.begin_time = in.At();
  out.end_time = in.At();
  for (int64_t* count : {&out.calls, &out.new_items, &out.known_items, &out.refused_items,
                         &out.fetched_pages, &out.found_images}) {
    *count = in.Number();
  }
  return out;
}

pg::Parameters SourceParameters(const Source& source) {
  pg::Parameters out;
  out.Add(source.id);
  out.Add(source.ns);
  out.Add(source.display_name);
  out.Add(static_cast<int>(source.kind));
  for (const std::string* text :
       {&source.credential, &source.query, &source.url, &source.country, &source.language,
        &source.category, &source.timeframe, &source.channel}) {
    out.Add(*text);
  }
  out.Add(source.page_size);
  out.Add(source.max_pages);
  out.Add(source.by_similarity);
  out.Add(source.skip_images);
  out.Add(ToArrayLiteral(source.categories));
  out.Add(source.interval.count());
  out.Add(source.max_interval.count());
  return out;
}

pg::Parameters RunParameters(const Run& run) {
  pg::Parameters out;
  out.Add(run.id);
  out.Add(run.source_id);
  out.Add(run.ns);
  out.Add(static_cast<int>(run.kind));
  out.Add(run.requested);
  out.Add(static_cast<int>(run.outcome));
  out.Add(run.code);
  out.Add(run.begin_time);
  out.Add(run.end_time);
  for (const int64_t count : {run.calls, run.new_items, run.known_items, run.refused_items,
                              run.fetched_pages, run.found_images}) {
    out.Add(count);
  }
  return out;
}

}  // namespace winnow::collector
