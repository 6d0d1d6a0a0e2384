#include "services/newsfeed/articles/category_store.h"

namespace winnow::newsfeed {
namespace {

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

StatusOr<std::vector<Category>> CategoryStore::List(Deadline deadline, const CategoryQuery& query) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::vector<Category>> {
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

StatusOr<std::set<ArticleKey>> CategoryStore::Existing(Deadline deadline,
                                                       const std::set<ArticleKey>& ids) {
  if (ids.empty()) return std::set<ArticleKey>();
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::set<ArticleKey>> {
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
