#include "services/platform/postgres/log/log_transaction.h"
#include "services/polling/jobs/job_sql.h"
#include "services/polling/jobs/job_store.h"

// History by position, for watches and the view; and what the view shows.
namespace winnow::polling {
namespace {

const pg::Stream& EventStream() {
  static const pg::Stream stream{"polling", "job_events"};
  return stream;
}

constexpr pg::Statement kReadByPosition{
    "polling.read_by_position",
    "SELECT " WINNOW_EVENT_COLUMNS
    ", position FROM polling.job_events WHERE position > $1 AND position <= $2 "
    "ORDER BY position LIMIT $3"};

constexpr pg::Statement kListViews{
    "polling.list_views",
    "SELECT k.kind, p.view_prefix, p.states FROM polling.kinds k "
    "JOIN polling.policies p ON p.kind = k.kind AND p.version = k.version "
    "WHERE p.view_prefix <> '' ORDER BY k.kind"};
constexpr pg::Statement kListRetired{
    "polling.list_retired_keys",
    "SELECT p.view_prefix || s.state FROM polling.policies p "
    "CROSS JOIN unnest(p.states) AS s(state) WHERE p.view_prefix <> '' "
    "EXCEPT SELECT p.view_prefix || s.state FROM polling.kinds k "
    "JOIN polling.policies p ON p.kind = k.kind AND p.version = k.version "
    "CROSS JOIN unnest(p.states) AS s(state)"};
constexpr pg::Statement kCountKnown{
    "polling.count_known",
    "SELECT count(*) FROM unnest($2::text[]) AS u(id) CROSS JOIN LATERAL "
    "(SELECT FROM polling.jobs x WHERE x.kind = $1 AND x.id = u.id LIMIT 1) j"};
constexpr pg::Statement kShowsState{
    "polling.shows_state",
    "SELECT EXISTS (SELECT FROM polling.jobs WHERE kind = $1 AND state = $2 AND phase <= 2)"};
constexpr pg::Statement kReadShown{
    "polling.read_shown",
    "SELECT j.id, j.state, j.state_time FROM unnest($2::text[]) AS u(id) CROSS JOIN LATERAL "
    "(SELECT x.id, x.state, x.state_time FROM polling.jobs x "
    " WHERE x.kind = $1 AND x.id = u.id AND x.phase <= 2 LIMIT 1) j"};
constexpr pg::Statement kReadShownPage{
    "polling.read_shown_page",
    "SELECT id, state, state_time FROM polling.jobs WHERE kind = $1 AND id > $2 AND phase <= 2 "
    "ORDER BY id LIMIT $3"};

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
        for (const pqxx::row& row : session.Execute(kReadByPosition, after, until, count)) {
          events.push_back({ToEvent(row), row[kEventColumns].as<int64_t>()});
        }
        return events;
      });
}

StatusOr<std::vector<ViewOfKind>> JobStore::ListViews(Deadline deadline) {
  return reads_.Statements(
      deadline, [&](pg::Session& session) -> StatusOr<std::vector<ViewOfKind>> {
        std::vector<ViewOfKind> views;
        for (const pqxx::row& row : session.Execute(kListViews)) {
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
    return session.Execute(kCountKnown, kind, array)[0][0].as<int64_t>();
  });
}

StatusOr<bool> JobStore::ShowsState(Deadline deadline, const std::string& kind,
                                    const std::string& state) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<bool> {
    return session.Execute(kShowsState, kind, state)[0][0].as<bool>();
  });
}

StatusOr<std::vector<std::string>> JobStore::ListRetiredKeys(Deadline deadline) {
  return reads_.Statements(deadline,
                           [&](pg::Session& session) -> StatusOr<std::vector<std::string>> {
                             std::vector<std::string> keys;
                             for (const pqxx::row& row : session.Execute(kListRetired)) {
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
    return ToShown(session.Execute(kReadShown, kind, array));
  });
}

StatusOr<std::map<std::string, ShownJob>> JobStore::ReadShownPage(Deadline deadline,
                                                                  const std::string& kind,
                                                                  const std::string& after,
                                                                  int count) {
  using Result = StatusOr<std::map<std::string, ShownJob>>;
  return reads_.Statements(deadline, [&](pg::Session& session) -> Result {
    return ToShown(session.Execute(kReadShownPage, kind, after, count));
  });
}

}  // namespace winnow::polling
