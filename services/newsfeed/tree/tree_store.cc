#include "services/newsfeed/tree/tree_store.h"

#include <algorithm>

#include "services/newsfeed/articles/feeds_log_sql.h"
#include "services/platform/postgres/log/log_transaction.h"

// The tree itself. A transaction that changes it holds its lock, and that of the log where articles
// are concerned, in this order: first the log's.
namespace winnow::newsfeed {
namespace {

constexpr pg::Statement kRead{
    "newsfeed.read_category",
    "SELECT c.display_name, c.parent_id, c.path, c.created_at, c.updated_at, c.revision, "
    "c.is_deleting "
    "FROM newsfeed.categories c WHERE c.namespace = $1 AND c.id = $2"};

constexpr pg::Statement kRename{
    "newsfeed.rename_category",
    "UPDATE newsfeed.categories SET display_name = $3, updated_at = now(), revision = revision + 1 "
    "WHERE namespace = $1 AND id = $2"};

constexpr pg::Statement kDeepest{"newsfeed.deepest_category",
                                 "SELECT max(cardinality(c.path)) FROM newsfeed.categories c "
                                 "WHERE c.namespace = $1 AND c.path[1:$2::int] = $3::text[]"};

// $2 and $3: the path as it was, and its length; $4 as it is now; $5 id, $6 parent.
constexpr pg::Statement kMove{
    "newsfeed.move_category",
    "UPDATE newsfeed.categories c SET path = $4::text[] || c.path[$3::int + 1:], "
    "parent_id = CASE WHEN c.id = $5 THEN $6 ELSE c.parent_id END, "
    "updated_at = CASE WHEN c.id = $5 THEN now() ELSE c.updated_at END, "
    "revision = c.revision + CASE WHEN c.id = $5 THEN 1 ELSE 0 END "
    "WHERE c.namespace = $1 AND c.path[1:$3::int] = $2::text[]"};

constexpr pg::Statement kHasChild{
    "newsfeed.category_has_child",
    "SELECT 1 FROM newsfeed.categories c WHERE c.namespace = $1 AND c.parent_id = $2 LIMIT 1"};

constexpr pg::Statement kHasArticle{
    "newsfeed.category_has_article",
    "SELECT 1 FROM newsfeed.feed_entries e WHERE e.feed = $1 LIMIT 1"};

constexpr pg::Statement kMarkDeleting{
    "newsfeed.mark_deleting",
    "UPDATE newsfeed.categories SET is_deleting = TRUE, revision = revision + 1 "
    "WHERE namespace = $1 AND id = $2"};

constexpr pg::Statement kAddWork{
    "newsfeed.add_tree_work",
    "INSERT INTO newsfeed.tree_work (namespace, category, before_time, before_id) "
    "VALUES ($1, $2, 'infinity', '') ON CONFLICT (namespace, category) "
    "DO UPDATE SET before_time = excluded.before_time, before_id = excluded.before_id"};

constexpr pg::Statement kCountChange{
    "newsfeed.count_tree_change",
    "INSERT INTO newsfeed.feed_state AS f (namespace, changed_at, tree_revision) "
    "VALUES ($1, $2, 1) ON CONFLICT (namespace) "
    "DO UPDATE SET tree_revision = f.tree_revision + 1"};

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
  const pqxx::result rows = session.Execute(kDeepest, now.ns, size, ToArray(now.path));
  const size_t levels_below = static_cast<size_t>(rows[0][0].as<int64_t>() - size);
  if (new_size + levels_below <= kMaxCategoryDepth) return OkStatus();
  return InvalidField("parent_id", "the deepest category below \"" + now.id +
                                       "\" would be at level " +
                                       std::to_string(new_size + levels_below) + " of at most " +
                                       std::to_string(kMaxCategoryDepth));
}

void NoteChange(pg::LogSession& log, const Category& category) {
  log.session().Execute(kAddWork, category.ns, category.id);
  log.session().Execute(kCountChange, category.ns, log.arrival_time());
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
  session.Execute(kMove, asked.ns, ToArray(now.path), std::ssize(now.path), ToArray(path), asked.id,
                  parent);
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
  if (!session.Execute(kHasChild, asked.ns, asked.id).empty()) {
    return FailedPrecondition("category \"" + asked.id +
                              "\" has others below it; move or delete those first");
  }
  if (!force && !session.Execute(kHasArticle, FeedName(asked.ns, asked.id)).empty()) {
    return FailedPrecondition("category \"" + asked.id +
                              "\" has articles; set force to take them out of it");
  }
  session.Execute(kMarkDeleting, asked.ns, asked.id);
  NoteChange(log, now.category);
  return OkStatus();
}

}  // namespace

StatusOr<StoredCategory> ReadCategory(pg::Session& session, const std::string& ns,
                                      const std::string& id) {
  const pqxx::result rows = session.Execute(kRead, ns, id);
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
    session.Execute(kRename, category.ns, category.id, category.display_name);
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
