-- name: newsfeed.read_category
SELECT c.display_name, c.parent_id, c.path, c.created_at, c.updated_at, c.revision, c.is_deleting
FROM newsfeed.categories c WHERE c.namespace = $1 AND c.id = $2

-- name: newsfeed.rename_category
UPDATE newsfeed.categories SET display_name = $3, updated_at = now(), revision = revision + 1
WHERE namespace = $1 AND id = $2

-- name: newsfeed.deepest_category
SELECT max(cardinality(c.path)) FROM newsfeed.categories c
WHERE c.namespace = $1 AND c.path[1:$2::int] = $3::text[]

-- $2 and $3: the path as it was, and its length; $4 as it is now; $5 id, $6 parent.
-- name: newsfeed.move_category
UPDATE newsfeed.categories c
SET path = $4::text[] || c.path[$3::int + 1:],
  parent_id = CASE WHEN c.id = $5 THEN $6 ELSE c.parent_id END,
  updated_at = CASE WHEN c.id = $5 THEN now() ELSE c.updated_at END,
  revision = c.revision + CASE WHEN c.id = $5 THEN 1 ELSE 0 END
WHERE c.namespace = $1 AND c.path[1:$3::int] = $2::text[]

-- name: newsfeed.category_has_child
SELECT 1 FROM newsfeed.categories c WHERE c.namespace = $1 AND c.parent_id = $2 LIMIT 1

-- name: newsfeed.category_has_article
SELECT 1 FROM newsfeed.feed_entries e WHERE e.feed = $1 LIMIT 1

-- name: newsfeed.mark_deleting
UPDATE newsfeed.categories SET is_deleting = TRUE, revision = revision + 1
WHERE namespace = $1 AND id = $2

-- name: newsfeed.add_tree_work
INSERT INTO newsfeed.tree_work (namespace, category, before_time, before_id)
VALUES ($1, $2, 'infinity', '') ON CONFLICT (namespace, category)
DO UPDATE SET before_time = excluded.before_time, before_id = excluded.before_id

-- name: newsfeed.count_tree_change
INSERT INTO newsfeed.feed_state AS f (namespace, changed_at, tree_revision) VALUES ($1, $2, 1)
ON CONFLICT (namespace) DO UPDATE SET tree_revision = f.tree_revision + 1
