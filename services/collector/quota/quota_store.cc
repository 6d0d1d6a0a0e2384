#include "services/collector/quota/quota_store.h"

#include <charconv>

#include "services/collector/quota/quota_store.sql.h"

namespace winnow::collector {
namespace {

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
    session.Execute(sql::kMakeQuota, credential, key_hash);
    const pqxx::result rows = session.Execute(sql::kLockQuota, credential);
    QuotaState state = ToState(rows[0]);
    const bool other_key = rows[0][5].as<int64_t>() != key_hash;
    if (other_key && state.blocked_by == Outcome::kAuth) {
      state.blocked_until = Time{};
      state.blocked_by = Outcome::kNone;
    }
    change(state);
    pg::Array recent;
    for (const Time call : state.recent) recent.Add(call.time_since_epoch().count());
    session.Execute(sql::kWriteQuota, credential, state.day_begin, state.day_used, recent,
                    state.blocked_until, static_cast<int>(state.blocked_by), key_hash);
    return OkStatus();
  });
}

StatusOr<QuotaState> QuotaStore::Read(Deadline deadline, const std::string& credential) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<QuotaState> {
    const pqxx::result rows = session.Execute(sql::kReadQuota, credential);
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
    for (const auto& row : session.Execute(sql::kFindPictures, keys)) {
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
    session.Execute(sql::kSavePictures, pages, images, keeps);
    return OkStatus();
  });
}

StatusOr<int64_t> QuotaStore::DeleteOldPictures(Deadline deadline) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    return static_cast<int64_t>(session.Execute(sql::kDeleteOldPictures).affected_rows());
  });
}

}  // namespace winnow::collector
