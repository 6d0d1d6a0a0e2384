#include "services/newsfeed/articles/category_store.h"

#include "services/newsfeed/articles/category_store.sql.h"

namespace winnow::newsfeed {
namespace {

pg::Array ToArray(const std::vector<std::string>& texts) {
  pg::Array array;
  for (const std::string& text : texts) array.Add(text);
  return array;
}

}  // namespace

StatusOr<std::vector<Category>> CategoryStore::List(Deadline deadline, const CategoryQuery& query) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::vector<Category>> {
    std::vector<Category> categories;
    for (const pqxx::row& row : session.Execute(sql::kListCategories, query.ns,
                                                ToArray(query.after), query.page_size + 1)) {
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
    for (const pqxx::row& row : session.Execute(sql::kExistingCategories, namespaces, names)) {
      existing.emplace(row[0].as<std::string>(), row[1].as<std::string>());
    }
    return existing;
  });
}

}  // namespace winnow::newsfeed
