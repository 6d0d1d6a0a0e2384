#include "services/newsfeed/tree/tree_store.h"
#include "services/newsfeed/tree/tree_store_create.sql.h"

// Creating categories.
namespace winnow::newsfeed {
namespace {

pg::Array ToArray(const std::vector<std::string>& texts) {
  pg::Array array;
  for (const std::string& text : texts) array.Add(text);
  return array;
}

}  // namespace

void LockTree(pg::Session& session, const std::string& ns) { session.Execute(sql::kLockTree, ns); }

StatusOr<Category> TreeStore::Create(Deadline deadline, const Category& category) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Category> {
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
      const pqxx::result found = session.Execute(sql::kParentPath, category.ns, category.parent_id);
      if (found.empty()) return NotFound("category", category.parent_id);
      above = pg::ToTexts(found[0][0]);
    }
    Category created = category;
    WINNOW_ASSIGN_OR_RETURN(created.path, PathBelow(above, category.id, "category.parent_id"));
    session.Execute(sql::kInsertCategory, category.ns, category.id, category.display_name, parent,
                    ToArray(created.path));
    WINNOW_ASSIGN_OR_RETURN(StoredCategory stored, ReadCategory(session, category.ns, category.id));
    return std::move(stored.category);
  });
}

StatusOr<int> TreeStore::Seed(Deadline deadline, const std::string& ns,
                              std::span<const Category> categories) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<int> {
    LockTree(session, ns);
    if (!session.Execute(sql::kAnyCategory, ns).empty()) return 0;
    for (const Category& category : categories) {
      session.Execute(sql::kInsertCategory, ns, category.id, category.display_name,
                      std::optional<std::string>(), ToArray({category.id}));
    }
    return static_cast<int>(categories.size());
  });
}

}  // namespace winnow::newsfeed
