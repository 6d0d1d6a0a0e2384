#include "services/collector/sources/source_store.h"

#include "services/collector/sources/source_sql.h"

namespace winnow::collector {
namespace {

constexpr std::chrono::milliseconds kFullRetry{60'000};

#define WINNOW_COLLECTOR_RETURNING " RETURNING " WINNOW_COLLECTOR_SOURCE_COLUMNS

constexpr pg::Statement kInsert{
    "collector.insert_source",
    "INSERT INTO collector.sources (id, namespace, display_name, kind, credential, query, url,"
    "   country, language, category, timeframe, channel, page_size, max_pages, by_similarity,"
    "   skip_images, categories, interval_seconds, max_interval_seconds, current_interval_seconds,"
    "   state, revision, failures, feed_etag, feed_modified, create_time, update_time,"
    "   next_run_time)"
    " SELECT $1, $2, $3, $4::smallint, $5, $6, $7, $8, $9, $10, $11, $12, $13::integer,"
    "   $14::integer, $15::boolean, $16::boolean, $17::text[], $18::bigint, $19::bigint,"
    "   $18::bigint, 1, 1, 0, '', '', now(), now(), now()"
    " WHERE (SELECT count(id) FROM collector.sources) < $20::bigint"
    " ON CONFLICT (id) DO NOTHING" WINNOW_COLLECTOR_RETURNING};

// A wave of new feeds is spread over their first interval.
constexpr pg::Statement kInsertFeeds{
    "collector.insert_feeds",
    "INSERT INTO collector.sources (id, namespace, display_name, kind, credential, query, url,"
    "   country, language, category, timeframe, channel, page_size, max_pages, by_similarity,"
    "   skip_images, categories, interval_seconds, max_interval_seconds, current_interval_seconds,"
    "   state, revision, failures, feed_etag, feed_modified, create_time, update_time,"
    "   next_run_time)"
    " SELECT f.id, $5, f.title, 3, '', '', f.url, '', '', '', '', '', 0, 0, false, false,"
    "   f.categories::text[], $6::bigint, $7::bigint, $6::bigint, 1, 1, 0, '', '', now(), now(),"
    "   now() + random() * $6::bigint * interval '1 second'"
    " FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS f(id, url, title, categories)"
    " ON CONFLICT (id) DO NOTHING RETURNING 1"};

constexpr pg::Statement kCount{"collector.count_sources",
                               "SELECT count(id) FROM collector.sources"};

constexpr pg::Statement kGet{"collector.get_source", "SELECT " WINNOW_COLLECTOR_SOURCE_COLUMNS
                                                     " FROM collector.sources WHERE id = $1"};

constexpr pg::Statement kGetForUpdate{"collector.get_source_for_update",
                                      "SELECT " WINNOW_COLLECTOR_SOURCE_COLUMNS
                                      " FROM collector.sources WHERE id = $1 FOR UPDATE"};

constexpr pg::Statement kList{
    "collector.list_sources",
    "SELECT " WINNOW_COLLECTOR_SOURCE_COLUMNS
    " FROM collector.sources WHERE id > $1 AND ($2 = '' OR namespace = $2)"
    " ORDER BY id LIMIT $3::integer"};

// Namespace and kind never change.
constexpr pg::Statement kUpdate{
    "collector.update_source",
    "UPDATE collector.sources SET namespace = $2, display_name = $3, kind = $4::smallint,"
    "   credential = $5, query = $6, url = $7, country = $8, language = $9, category = $10,"
    "   timeframe = $11, channel = $12, page_size = $13::integer, max_pages = $14::integer,"
    "   by_similarity = $15::boolean, skip_images = $16::boolean, categories = $17::text[],"
    "   interval_seconds = $18::bigint, max_interval_seconds = $19::bigint,"
    "   current_interval_seconds = $20::bigint, state = $21::smallint, failures = $22::integer,"
    "   feed_etag = $23, feed_modified = $24, revision = revision + 1, update_time = now(),"
    "   next_run_time = CASE WHEN $25::boolean THEN now() ELSE next_run_time END,"
    "   unread_pages = unread_pages OR $26::boolean"
    " WHERE id = $1" WINNOW_COLLECTOR_RETURNING};

constexpr pg::Statement kDelete{
    "collector.delete_source",
    "WITH asked AS (DELETE FROM collector.run_requests WHERE source_id = $1)"
    " DELETE FROM collector.sources WHERE id = $1"};

constexpr pg::Statement kRequest{
    "collector.request_run",
    "UPDATE collector.sources SET requested_run_id = coalesce(requested_run_id, $2::uuid),"
    "   next_run_time = least(next_run_time, now())"
    " WHERE id = $1 AND state = 1 RETURNING requested_run_id"};

constexpr pg::Statement kFindRequest{
    "collector.find_run_request",
    "SELECT run_id FROM collector.run_requests WHERE source_id = $1 AND request_id = $2"};

constexpr pg::Statement kKeepRequest{
    "collector.keep_run_request",
    "INSERT INTO collector.run_requests (source_id, request_id, run_id, create_time)"
    " VALUES ($1, $2, $3::uuid, now())"};

constexpr pg::Statement kListRuns{"collector.list_runs", "SELECT " WINNOW_COLLECTOR_RUN_COLUMNS
                                                         " FROM collector.runs WHERE id < $1::uuid"
                                                         " ORDER BY id DESC LIMIT $2::integer"};

constexpr pg::Statement kListSourceRuns{"collector.list_source_runs",
                                        "SELECT " WINNOW_COLLECTOR_RUN_COLUMNS
                                        " FROM collector.runs WHERE id < $1::uuid"
                                        " AND source_id = $3 ORDER BY id DESC LIMIT $2::integer"};

constexpr const char* kLastId = "ffffffff-ffff-ffff-ffff-ffffffffffff";

// What a caller chose; what the server keeps is another matter.
bool IsSameSetting(const Source& a, const Source& b) {
  return a.ns == b.ns && a.display_name == b.display_name && a.kind == b.kind &&
         a.credential == b.credential && a.query == b.query && a.url == b.url &&
         a.country == b.country && a.language == b.language && a.category == b.category &&
         a.timeframe == b.timeframe && a.channel == b.channel && a.page_size == b.page_size &&
         a.max_pages == b.max_pages && a.by_similarity == b.by_similarity &&
         a.skip_images == b.skip_images && a.categories == b.categories &&
         a.interval == b.interval && a.max_interval == b.max_interval;
}

}  // namespace

StatusOr<Source> SourceStore::Create(Deadline deadline, const Source& source) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Source> {
    pg::Parameters parameters = SourceParameters(source);
    parameters.Add(kMaxSources);
    const pqxx::result created = session.Run(kInsert, parameters);
    if (!created.empty()) return ToSource(created[0]);
    const pqxx::result found = session.Execute(kGet, source.id);
    if (found.empty())
      return Overloaded("this installation has " + std::to_string(kMaxSources) +
                            " sources, the limit: delete some first",
                        kFullRetry);
    Source stored = ToSource(found[0]);
    if (!IsSameSetting(source, stored)) return AlreadyExists("source", source.id);
    return stored;
  });
}

StatusOr<Source> SourceStore::Get(Deadline deadline, const std::string& id) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Source> {
    const pqxx::result found = session.Execute(kGet, id);
    if (found.empty()) return NotFound("source", id);
    return ToSource(found[0]);
  });
}

StatusOr<std::vector<Source>> SourceStore::List(Deadline deadline, const std::string& ns,
                                                const std::string& after, int limit) {
  using Sources = StatusOr<std::vector<Source>>;
  return reads_.Statements(deadline, [&](pg::Session& session) -> Sources {
    std::vector<Source> sources;
    for (const auto& row : session.Execute(kList, after, ns, limit)) {
      sources.push_back(ToSource(row));
    }
    return sources;
  });
}

StatusOr<Source> SourceStore::Update(Deadline deadline, const std::string& id,
                                     FunctionRef<Status(Source&)> change) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Source> {
    const pqxx::result found = session.Execute(kGetForUpdate, id);
    if (found.empty()) return NotFound("source", id);
    Source source = ToSource(found[0]);
    const Source before = source;
    WINNOW_RETURN_IF_ERROR(change(source));
    const bool changed = !IsSameSetting(source, before);
    const bool starts =
        source.state == SourceState::kActive && (before.state != SourceState::kActive || changed);
    pg::Parameters parameters = SourceParameters(source);
    parameters.Add(source.current_interval.count());
    parameters.Add(static_cast<int>(source.state));
    parameters.Add(source.failures);
    parameters.Add(source.feed_etag);
    parameters.Add(source.feed_modified);
    parameters.Add(starts);
    parameters.Add(changed);
    return ToSource(session.Run(kUpdate, parameters)[0]);
  });
}

StatusOr<bool> SourceStore::Delete(Deadline deadline, const std::string& id) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<bool> {
    return session.Execute(kDelete, id).affected_rows() > 0;
  });
}

StatusOr<std::string> SourceStore::RequestRun(Deadline deadline, const std::string& id,
                                              const std::string& run_id,
                                              const std::string& request) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<std::string> {
    if (session.Execute(kGetForUpdate, id).empty()) return NotFound("source", id);
    if (!request.empty()) {
      const pqxx::result found = session.Execute(kFindRequest, id, request);
      if (!found.empty()) return std::string(found[0][0].c_str());
    }
    const pqxx::result updated = session.Execute(kRequest, id, run_id);
    if (updated.empty()) return FailedPrecondition("the source is paused or blocked: resume it");
    std::string asked = updated[0][0].c_str();
    if (!request.empty()) session.Execute(kKeepRequest, id, request, asked);
    return asked;
  });
}

StatusOr<int64_t> SourceStore::CreateFeeds(Deadline deadline, const Source& example,
                                           const std::vector<OpmlFeed>& feeds, bool folders) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    const auto there = session.Execute(kCount)[0][0].as<int64_t>();
    if (there + static_cast<int64_t>(feeds.size()) > kMaxSources) {
      return Overloaded("this installation has " + std::to_string(kMaxSources) +
                            " sources, the limit: delete some first",
                        kFullRetry);
    }
    pg::BinaryArray ids(pg::BinaryArray::kText);
    pg::BinaryArray urls(pg::BinaryArray::kText);
    pg::BinaryArray titles(pg::BinaryArray::kText);
    pg::BinaryArray categories(pg::BinaryArray::kText);
    for (const OpmlFeed& feed : feeds) {
      ids.AddText(FeedSourceId(feed.url));
      urls.AddText(feed.url);
      titles.AddText(feed.title);
      categories.AddText(folders ? ToArrayLiteral(feed.folders) : "{}");
    }
    return static_cast<int64_t>(session
                                    .Execute(kInsertFeeds, ids, urls, titles, categories,
                                             example.ns, example.interval.count(),
                                             example.max_interval.count())
                                    .size());
  });
}

StatusOr<std::vector<Run>> SourceStore::ListRuns(Deadline deadline, const RunQuery& query) {
  using Runs = StatusOr<std::vector<Run>>;
  return reads_.Statements(deadline, [&](pg::Session& session) -> Runs {
    const std::string before = query.before.empty() ? kLastId : query.before;
    const pqxx::result rows =
        query.source_id.empty()
            ? session.Execute(kListRuns, before, query.limit)
            : session.Execute(kListSourceRuns, before, query.limit, query.source_id);
    std::vector<Run> runs;
    for (const auto& row : rows) runs.push_back(ToRun(row));
    return runs;
  });
}

}  // namespace winnow::collector
