#include "services/newsfeed/store.h"
#include "services/newsfeed/store_tree.h"

// The category tree.
namespace winnow::newsfeed {
namespace {

constexpr pg::Statement kParent{
    "newsfeed.parent_path",
    "SELECT path FROM newsfeed.categories WHERE namespace = $1 AND id = $2 AND NOT is_deleting"};

// Who reads the tree to change it waits for who changes it.
constexpr pg::Statement kLockTree{
    "newsfeed.lock_tree",
    "SELECT pg_advisory_xact_lock(hashtextextended('newsfeed.tree/' || $1::text, 0))"};

constexpr pg::Statement kInsert{
    "newsfeed.insert_category",
    "INSERT INTO newsfeed.categories (namespace, id, display_name, parent_id, path, created_at, "
    "updated_at) VALUES ($1, $2, $3, $4, $5::text[], now(), now()) ON CONFLICT DO NOTHING"};

constexpr pg::Statement kAnyCategory{
    "newsfeed.any_category", "SELECT 1 FROM newsfeed.categories WHERE namespace = $1 LIMIT 1"};

constexpr pg::Statement kList{
    "newsfeed.list_categories",
    "SELECT id, display_name, parent_id, path, created_at, updated_at, revision "
    "FROM newsfeed.categories "
    "WHERE namespace = $1 AND path > $2::text[] AND NOT is_deleting ORDER BY path LIMIT $3"};

constexpr pg::Statement kExisting{
    "newsfeed.existing_categories",
    "SELECT s.namespace, s.id FROM unnest($1::text[], $2::text[]) AS s (namespace, id) "
    "WHERE EXISTS (SELECT 1 FROM newsfeed.categories c WHERE c.namespace = s.namespace "
    "AND c.id = s.id AND NOT c.is_deleting OFFSET 0)"};

pg::Array ToArray(const std::vector<std::string>& texts) {
  pg::Array array;
  for (const std::string& text : texts) array.Add(text);
  return array;
}

}  // namespace

void LockTree(pg::Session& session, const std::string& ns) { session.Execute(kLockTree, ns); }

StatusOr<Category> Store::CreateCategory(Deadline deadline, const Category& category) {
  return writes_.Write(deadline, [&](pg::Session& session) -> StatusOr<Category> {
    LockTree(session, category.ns);
    const auto there = ReadCategory(session, category.ns, category.id);
    if (there.ok()) {
      const Category& stored = there->category;
      const bool same = !there->deleting && stored.display_name == category.display_name &&
                        stored.parent_id == category.parent_id;
      if (same) return stored;
      return AlreadyExists("category", category.id);
    }
    std::vector<std::string> above;
    std::optional<std::string> parent;
    if (!category.parent_id.empty()) {
      parent = category.parent_id;
      const pqxx::result found = session.Execute(kParent, category.ns, category.parent_id);
      if (found.empty()) return NotFound("category", category.parent_id);
      above = pg::ToTexts(found[0][0]);
    }
    Category created = category;
    WINNOW_ASSIGN_OR_RETURN(created.path, PathBelow(above, category.id, "category.parent_id"));
    session.Execute(kInsert, category.ns, category.id, category.display_name, parent,
                    ToArray(created.path));
    WINNOW_ASSIGN_OR_RETURN(StoredCategory stored, ReadCategory(session, category.ns, category.id));
    return std::move(stored.category);
  });
}

StatusOr<int> Store::SeedCategories(Deadline deadline, const std::string& ns,
                                    std::span<const Category> categories) {
  return writes_.Write(deadline, [&](pg::Session& session) -> StatusOr<int> {
    LockTree(session, ns);
    if (!session.Execute(kAnyCategory, ns).empty()) return 0;
    for (const Category& category : categories) {
      session.Execute(kInsert, ns, category.id, category.display_name, std::optional<std::string>(),
                      ToArray({category.id}));
    }
    return static_cast<int>(categories.size());
  });
}

StatusOr<std::vector<Category>> Store::ListCategories(Deadline deadline,
                                                      const CategoryQuery& query) {
  return reads_.Read(deadline, [&](pg::Session& session) -> StatusOr<std::vector<Category>> {
    std::vector<Category> categories;
    for (const pqxx::row& row :
         session.Execute(kList, query.ns, ToArray(query.after), query.page_size + 1)) {
      Category category;
      category.ns = query.ns;
      category.id = row[0].as<std::string>();
      category.display_name = row[1].as<std::string>();
      category.parent_id = row[2].is_null() ? "" : row[2].as<std::string>();
      category.path = pg::ToTexts(row[3]);
      category.create_time = pg::ToTime(row[4]);
      category.update_time = pg::ToTime(row[5]);
      category.etag = EtagOf(category, row[6].as<int64_t>());
      categories.push_back(std::move(category));
    }
    return categories;
  });
}

StatusOr<std::set<ArticleKey>> Store::ExistingCategories(Deadline deadline,
                                                         const std::set<ArticleKey>& ids) {
  if (ids.empty()) return std::set<ArticleKey>();
  return reads_.Read(deadline, [&](pg::Session& session) -> StatusOr<std::set<ArticleKey>> {
    pg::Array namespaces, names;
    for (const auto& [ns, id] : ids) {
      namespaces.Add(ns);
      names.Add(id);
    }
    std::set<ArticleKey> existing;
    for (const pqxx::row& row : session.Execute(kExisting, namespaces, names)) {
      existing.emplace(row[0].as<std::string>(), row[1].as<std::string>());
    }
    return existing;
  });
}

}  // namespace winnow::newsfeed
