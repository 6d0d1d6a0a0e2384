-- name: newsfeed.list_categories
SELECT id, display_name, parent_id, path, created_at, updated_at, revision FROM newsfeed.categories
WHERE namespace = $1 AND path > $2::text[] AND NOT is_deleting ORDER BY path LIMIT $3

-- name: newsfeed.existing_categories
SELECT s.namespace, s.id FROM unnest($1::text[], $2::text[]) AS s (namespace, id)
WHERE EXISTS (SELECT 1 FROM newsfeed.categories c
  WHERE c.namespace = s.namespace AND c.id = s.id AND NOT c.is_deleting OFFSET 0)
