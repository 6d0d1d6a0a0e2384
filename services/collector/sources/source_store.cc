#include "services/collector/sources/source_store.h"

#include "services/collector/sources/source_sql.h"
#include "services/collector/sources/source_store.sql.h"

namespace winnow::collector {
namespace {

constexpr std::chrono::milliseconds kFullRetry{60'000};

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
    const pqxx::result created = session.Run(sql::kInsertSource, parameters);
    if (!created.empty()) return ToSource(created[0]);
    const pqxx::result found = session.Execute(sql::kGetSource, source.id);
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
    const pqxx::result found = session.Execute(sql::kGetSource, id);
    if (found.empty()) return NotFound("source", id);
    return ToSource(found[0]);
  });
}

StatusOr<std::vector<Source>> SourceStore::List(Deadline deadline, const std::string& ns,
                                                const std::string& after, int limit) {
  using Sources = StatusOr<std::vector<Source>>;
  return reads_.Statements(deadline, [&](pg::Session& session) -> Sources {
    std::vector<Source> sources;
    for (const auto& row : session.Execute(sql::kListSources, after, ns, limit)) {
      sources.push_back(ToSource(row));
    }
    return sources;
  });
}

StatusOr<Source> SourceStore::Update(Deadline deadline, const std::string& id,
                                     FunctionRef<Status(Source&)> change) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Source> {
    const pqxx::result found = session.Execute(sql::kGetSourceForUpdate, id);
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
    return ToSource(session.Run(sql::kUpdateSource, parameters)[0]);
  });
}

StatusOr<bool> SourceStore::Delete(Deadline deadline, const std::string& id) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<bool> {
    return session.Execute(sql::kDeleteSource, id).affected_rows() > 0;
  });
}

StatusOr<std::string> SourceStore::RequestRun(Deadline deadline, const std::string& id,
                                              const std::string& run_id,
                                              const std::string& request) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<std::string> {
    if (session.Execute(sql::kGetSourceForUpdate, id).empty()) return NotFound("source", id);
    if (!request.empty()) {
      const pqxx::result found = session.Execute(sql::kFindRunRequest, id, request);
      if (!found.empty()) return std::string(found[0][0].c_str());
    }
    const pqxx::result updated = session.Execute(sql::kRequestRun, id, run_id);
    if (updated.empty()) return FailedPrecondition("the source is paused or blocked: resume it");
    std::string asked = updated[0][0].c_str();
    if (!request.empty()) session.Execute(sql::kKeepRunRequest, id, request, asked);
    return asked;
  });
}

StatusOr<int64_t> SourceStore::CreateFeeds(Deadline deadline, const Source& example,
                                           const std::vector<OpmlFeed>& feeds, bool folders) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    const auto there = session.Execute(sql::kCountSources)[0][0].as<int64_t>();
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
                                    .Execute(sql::kInsertFeeds, ids, urls, titles, categories,
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
            ? session.Execute(sql::kListRuns, before, query.limit)
            : session.Execute(sql::kListSourceRuns, before, query.limit, query.source_id);
    std::vector<Run> runs;
    for (const auto& row : rows) runs.push_back(ToRun(row));
    return runs;
  });
}

}  // namespace winnow::collector
