#include "services/collector/quota/quota_store.h"

#include <charconv>

namespace winnow::collector {
namespace {

#define WINNOW_COLLECTOR_QUOTA                                                      \
  "SELECT day_begin, day_used, recent::text[], blocked_until, blocked_by, key_hash" \
  " FROM collector.quotas WHERE credential = $1"

constexpr pg::Statement kMake{
    "collector.make_quota",
    "INSERT INTO collector.quotas (credential, day_begin, day_used, recent, blocked_until,"
    "   blocked_by, key_hash)"
    " VALUES ($1, 'epoch', 0, '{}', 'epoch', 0, $2::bigint) ON CONFLICT (credential) DO NOTHING"};
constexpr pg::Statement kRead{"collector.read_quota", WINNOW_COLLECTOR_QUOTA};
constexpr pg::Statement kLock{"collector.lock_quota", WINNOW_COLLECTOR_QUOTA " FOR UPDATE"};
constexpr pg::Statement kWrite{
    "collector.write_quota",
    "UPDATE collector.quotas SET day_begin = $2::timestamptz, day_used = $3::bigint,"
    "   recent = $4::bigint[], blocked_until = $5::timestamptz, blocked_by = $6::smallint,"
    "   key_hash = $7::bigint"
    " WHERE credential = $1"};

constexpr pg::Statement kFind{
    "collector.find_pictures",
    "SELECT wanted.n, p.image_url FROM unnest($1::uuid[]) WITH ORDINALITY AS wanted(page, n)"
    " CROSS JOIN LATERAL (SELECT image_url FROM collector.pictures WHERE page = wanted.page"
    "   AND expire_time > now() LIMIT 1) AS p"};
constexpr pg::Statement kSave{
    "collector.save_pictures",
    "INSERT INTO collector.pictures (page, image_url, expire_time)"
    " SELECT DISTINCT ON (page) page, image_url, now() + keep * interval '1 second'"
    " FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS f(page, image_url, keep) ORDER BY page"
    " ON CONFLICT (page) DO UPDATE SET image_url = excluded.image_url,"
    "   expire_time = excluded.expire_time"};
constexpr pg::Statement kDeleteOld{
    "collector.delete_old_pictures",
    "DELETE FROM collector.pictures WHERE page IN (SELECT page FROM collector.pictures"
    "   WHERE expire_time < now() ORDER BY expire_time LIMIT 1000)"};

QuotaState ToState(const pqxx::row& row) {
  QuotaState state;
  state.day_begin = pg::ToTime(row[0]);
  state.day_used = row[1].as<int64_t>();
  for (const std::string& text : pg::ToTexts(row[2])) {
    int64_t micros = 0;
    std::from_chars(text.data(), text.data() + text.size(), micros);
    state.recent.emplace_back(Micros(micros));
  }
  state.blocked_until = pg::ToTime(row[3]);
  state.blocked_by = static_cast<Outcome>(row[4].as<int>());
  return state;
}

}  // namespace

Status QuotaStore::Change(Deadline deadline, const std::string& credential, int64_t key_hash,
                          FunctionRef<void(QuotaState&)> change) {
  return writes_.Transaction(deadline, [&](pg::Session& session) {
    session.Execute(kMake, credential, key_hash);
    const pqxx::result rows = session.Execute(kLock, credential);
    QuotaState state = ToState(rows[0]);
    const bool other_key = rows[0][5].as<int64_t>() != key_hash;
    if (other_key && state.blocked_by == Outcome::kAuth) {
      state.blocked_until = Time{};
      state.blocked_by = Outcome::kNone;
    }
    change(state);
    pg::Array recent;
    for (const Time call : state.recent) recent.Add(call.time_since_epoch().count());
    session.Execute(kWrite, credential, state.day_begin, state.day_used, recent,
                    state.blocked_until, static_cast<int>(state.blocked_by), key_hash);
    return OkStatus();
  });
}

StatusOr<QuotaState> QuotaStore::Read(Deadline deadline, const std::string& credential) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<QuotaState> {
    const pqxx::result rows = session.Execute(kRead, credential);
    return rows.empty() ? QuotaState() : ToState(rows[0]);
  });
}

StatusOr<std::vector<std::optional<std::string>>> QuotaStore::FindPictures(
    Deadline deadline, const std::vector<Hash128Value>& pages) {
  using Found = std::vector<std::optional<std::string>>;
  pg::BinaryArray keys(pg::BinaryArray::kUuid);
  for (const Hash128Value& page : pages) keys.AddUuid(page.high, page.low);
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Found> {
    Found found(pages.size());
    for (const auto& row : session.Execute(kFind, keys)) {
      found.at(row[0].as<size_t>() - 1) = row[1].as<std::string>();
    }
    return found;
  });
}

Status QuotaStore::SavePictures(Deadline deadline, const std::vector<Picture>& pictures) {
  if (pictures.empty()) return OkStatus();
  pg::BinaryArray pages(pg::BinaryArray::kUuid);
  pg::BinaryArray images(pg::BinaryArray::kText);
  pg::BinaryArray keeps(pg::BinaryArray::kBigint);
  for (const Picture& picture : pictures) {
    pages.AddUuid(picture.page.high, picture.page.low);
    images.AddText(picture.image_url);
    keeps.AddNumber(picture.keep.count());
  }
  return writes_.Transaction(deadline, [&](pg::Session& session) {
    session.Execute(kSave, pages, images, keeps);
    return OkStatus();
  });
}

StatusOr<int64_t> QuotaStore::DeleteOldPictures(Deadline deadline) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    return static_cast<int64_t>(session.Execute(kDeleteOld).affected_rows());
  });
}

}  // namespace winnow::collector
