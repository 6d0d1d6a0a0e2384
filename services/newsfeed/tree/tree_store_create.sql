-- name: newsfeed.parent_path
SELECT path FROM newsfeed.categories WHERE namespace = $1 AND id = $2 AND NOT is_deleting

-- Who reads the tree to change it waits for who changes it.
-- name: newsfeed.lock_tree
SELECT pg_advisory_xact_lock(hashtextextended('newsfeed.tree/' || $1::text, 0))

-- name: newsfeed.insert_category
INSERT INTO newsfeed.categories (namespace, id, display_name, parent_id, path, created_at,
  updated_at) VALUES ($1, $2, $3, $4, $5::text[], now(), now()) ON CONFLICT DO NOTHING

-- name: newsfeed.any_category
SELECT 1 FROM newsfeed.categories WHERE namespace = $1 LIMIT 1
