#include "services/platform/postgres/log/log_transaction.h"
#include "services/polling/jobs/job_sql.h"
#include "services/polling/jobs/job_store.h"
#include "services/polling/jobs/job_store_history.sql.h"

// History by position, for watches and the view; and what the view shows.
namespace winnow::polling {
namespace {

const pg::Stream& EventStream() {
  static const pg::Stream stream{"polling", "job_events"};
  return stream;
}

std::map<std::string, ShownJob> ToShown(const pqxx::result& rows) {
  std::map<std::string, ShownJob> shown;
  for (const pqxx::row& row : rows) {
    const auto millis = std::chrono::floor<std::chrono::milliseconds>(pg::ToTime(row[2]));
    shown[row[0].as<std::string>()] = {row[1].as<std::string>(), millis.time_since_epoch().count()};
  }
  return shown;
}

}  // namespace

pg::Sequence EventSequence() { return {EventStream(), "job_events", "number"}; }

StatusOr<HistoryHead> JobStore::ReadHead(Deadline deadline) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<HistoryHead> {
    WINNOW_ASSIGN_OR_RETURN(const pg::Head head, pg::ReadHead(session, EventStream()));
    return HistoryHead{head.head, head.epoch};
  });
}

StatusOr<std::vector<PlacedEvent>> JobStore::ReadHistory(Deadline deadline, int64_t after,
                                                         int64_t until, int count) {
  return reads_.Statements(
      deadline, [&](pg::Session& session) -> StatusOr<std::vector<PlacedEvent>> {
        std::vector<PlacedEvent> events;
        for (const pqxx::row& row : session.Execute(sql::kReadByPosition, after, until, count)) {
          events.push_back({ToEvent(row), row[kEventColumns].as<int64_t>()});
        }
        return events;
      });
}

StatusOr<std::vector<ViewOfKind>> JobStore::ListViews(Deadline deadline) {
  return reads_.Statements(
      deadline, [&](pg::Session& session) -> StatusOr<std::vector<ViewOfKind>> {
        std::vector<ViewOfKind> views;
        for (const pqxx::row& row : session.Execute(sql::kListViews)) {
          views.push_back(
              {row[0].as<std::string>(), row[1].as<std::string>(), pg::ToTexts(row[2])});
        }
        return views;
      });
}

StatusOr<int64_t> JobStore::CountKnown(Deadline deadline, const std::string& kind,
                                       std::span<const std::string> ids) {
  pg::Array array;
  for (const std::string& id : ids) array.Add(id);
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    return session.Execute(sql::kCountKnown, kind, array)[0][0].as<int64_t>();
  });
}

StatusOr<bool> JobStore::ShowsState(Deadline deadline, const std::string& kind,
                                    const std::string& state) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<bool> {
    return session.Execute(sql::kShowsState, kind, state)[0][0].as<bool>();
  });
}

StatusOr<std::vector<std::string>> JobStore::ListRetiredKeys(Deadline deadline) {
  return reads_.Statements(deadline,
                           [&](pg::Session& session) -> StatusOr<std::vector<std::string>> {
                             std::vector<std::string> keys;
                             for (const pqxx::row& row : session.Execute(sql::kListRetiredKeys)) {
                               keys.push_back(row[0].as<std::string>());
                             }
                             return keys;
                           });
}

StatusOr<std::map<std::string, ShownJob>> JobStore::ReadShown(Deadline deadline,
                                                              const std::string& kind,
                                                              std::span<const std::string> ids) {
  pg::Array array;
  for (const std::string& id : ids) array.Add(id);
  using Result = StatusOr<std::map<std::string, ShownJob>>;
  return reads_.Statements(deadline, [&](pg::Session& session) -> Result {
    return ToShown(session.Execute(sql::kReadShown, kind, array));
  });
}

StatusOr<std::map<std::string, ShownJob>> JobStore::ReadShownPage(Deadline deadline,
                                                                  const std::string& kind,
                                                                  const std::string& after,
                                                                  int count) {
  using Result = StatusOr<std::map<std::string, ShownJob>>;
  return reads_.Statements(deadline, [&](pg::Session& session) -> Result {
    return ToShown(session.Execute(sql::kReadShownPage, kind, after, count));
  });
}

}  // namespace winnow::polling
