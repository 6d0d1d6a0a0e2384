#include "services/newsfeed/tree/tree_store.h"

#include "services/newsfeed/articles/feeds_log_sql.h"
#include "services/newsfeed/tree/tree_store.sql.h"
#include "services/platform/postgres/log/log_transaction.h"

// The tree itself. A transaction that changes it holds its lock, and that of the log where articles
// are concerned, in this order: first the log's.
namespace winnow::newsfeed {
namespace {

StatusOr<Category> ReadLive(pg::Session& session, const std::string& ns, const std::string& id) {
  WINNOW_ASSIGN_OR_RETURN(StoredCategory found, ReadCategory(session, ns, id));
  if (found.deleting) return NotFound("category", id);
  return std::move(found.category);
}

Status CheckEtag(const Category& asked, const Category& stored) {
  if (asked.etag.empty() || asked.etag == stored.etag) return OkStatus();
  return Aborted(Reason::kStaleEtag,
                 "category \"" + asked.id + "\" was changed since it was read; read it again");
}

pg::Array ToArray(const std::vector<std::string>& texts) {
  pg::Array array;
  for (const std::string& text : texts) array.Add(text);
  return array;
}

Status CheckDepth(pg::Session& session, const Category& now, size_t new_size) {
  const int64_t size = std::ssize(now.path);
  const pqxx::result rows = session.Execute(sql::kDeepestCategory, now.ns, size, ToArray(now.path));
  const size_t levels_below = static_cast<size_t>(rows[0][0].as<int64_t>() - size);
  if (new_size + levels_below <= kMaxCategoryDepth) return OkStatus();
  return InvalidField("parent_id", "the deepest category below \"" + now.id +
                                       "\" would be at level " +
                                       std::to_string(new_size + levels_below) + " of at most " +
                                       std::to_string(kMaxCategoryDepth));
}

void NoteChange(pg::LogSession& log, const Category& category) {
  log.session().Execute(sql::kAddTreeWork, category.ns, category.id);
  log.session().Execute(sql::kCountTreeChange, category.ns, log.arrival_time());
}

Status Move(pg::LogSession& log, const Category& asked, Category& stored) {
  pg::Session& session = log.session();
  LockTree(session, asked.ns);
  WINNOW_ASSIGN_OR_RETURN(const Category now, ReadLive(session, asked.ns, asked.id));
  WINNOW_RETURN_IF_ERROR(CheckEtag(asked, now));
  std::vector<std::string> above;
  std::optional<std::string> parent;
  if (!asked.parent_id.empty()) {
    WINNOW_ASSIGN_OR_RETURN(Category found, ReadLive(session, asked.ns, asked.parent_id));
    above = std::move(found.path);
    parent = asked.parent_id;
  }
  WINNOW_ASSIGN_OR_RETURN(const auto path, PathBelow(above, asked.id, "parent_id"));
  stored = now;
  if (path == now.path) return OkStatus();
  WINNOW_RETURN_IF_ERROR(CheckDepth(session, now, path.size()));
  session.Execute(sql::kMoveCategory, asked.ns, ToArray(now.path), std::ssize(now.path),
                  ToArray(path), asked.id, parent);
  NoteChange(log, now);
  WINNOW_ASSIGN_OR_RETURN(stored, ReadLive(session, asked.ns, asked.id));
  return OkStatus();
}

Status MarkDeleting(pg::LogSession& log, const Category& asked, bool force) {
  pg::Session& session = log.session();
  LockTree(session, asked.ns);
  WINNOW_ASSIGN_OR_RETURN(const StoredCategory now, ReadCategory(session, asked.ns, asked.id));
  if (now.deleting) return OkStatus();  // goes on
  WINNOW_RETURN_IF_ERROR(CheckEtag(asked, now.category));
  if (!session.Execute(sql::kCategoryHasChild, asked.ns, asked.id).empty()) {
    return FailedPrecondition("category \"" + asked.id +
                              "\" has others below it; move or delete those first");
  }
  if (!force && !session.Execute(sql::kCategoryHasArticle, FeedName(asked.ns, asked.id)).empty()) {
    return FailedPrecondition("category \"" + asked.id +
                              "\" has articles; set force to take them out of it");
  }
  session.Execute(sql::kMarkDeleting, asked.ns, asked.id);
  NoteChange(log, now.category);
  return OkStatus();
}

}  // namespace

StatusOr<StoredCategory> ReadCategory(pg::Session& session, const std::string& ns,
                                      const std::string& id) {
  const pqxx::result rows = session.Execute(sql::kReadCategory, ns, id);
  if (rows.empty()) return NotFound("category", id);
  const pqxx::row row = rows[0];
  StoredCategory found;
  Category& category = found.category;
  category.ns = ns;
  category.id = id;
  category.display_name = row[0].as<std::string>();
  category.parent_id = row[1].is_null() ? "" : row[1].as<std::string>();
  category.path = pg::ToTexts(row[2]);
  category.create_time = pg::ToTime(row[3]);
  category.update_time = pg::ToTime(row[4]);
  category.etag = EtagOf(category, row[5].as<int64_t>());
  found.deleting = row[6].as<bool>();
  return found;
}

StatusOr<Category> TreeStore::Rename(Deadline deadline, const Category& category) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Category> {
    LockTree(session, category.ns);
    WINNOW_ASSIGN_OR_RETURN(const Category now, ReadLive(session, category.ns, category.id));
    WINNOW_RETURN_IF_ERROR(CheckEtag(category, now));
    if (now.display_name == category.display_name) return now;
    session.Execute(sql::kRenameCategory, category.ns, category.id, category.display_name);
    return ReadLive(session, category.ns, category.id);
  });
}

StatusOr<Category> TreeStore::BeginMove(Deadline deadline, const Category& category) {
  Category stored;
  const auto committed = pg::LogTransaction::Run(
      logs_, FeedsStream(), deadline,
      [&](pg::LogSession& log) { return Move(log, category, stored); },
      [&](pg::Session& session) -> StatusOr<bool> {
        const auto now = ReadLive(session, category.ns, category.id);
        return now.ok() && now->etag == stored.etag;
      });
  if (!committed.ok()) return committed.status();
  return stored;
}

Status TreeStore::BeginDelete(Deadline deadline, const Category& category, bool force) {
  return pg::LogTransaction::Run(
             logs_, FeedsStream(), deadline,
             [&](pg::LogSession& log) { return MarkDeleting(log, category, force); },
             [&](pg::Session& session) -> StatusOr<bool> {
               const auto now = ReadCategory(session, category.ns, category.id);
               return now.ok() && now->deleting;
             })
      .status();
}

}  // namespace winnow::newsfeed
