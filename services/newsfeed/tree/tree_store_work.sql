-- name: newsfeed.read_tree_work
SELECT w.before_time = 'infinity', w.before_time, w.before_id, c.is_deleting
FROM newsfeed.tree_work w
JOIN newsfeed.categories c ON c.namespace = w.namespace AND c.id = w.category
WHERE w.namespace = $1 AND w.category = $2 FOR UPDATE OF w

-- name: newsfeed.advance_tree_work
UPDATE newsfeed.tree_work SET before_time = $3::timestamptz, before_id = $4
WHERE namespace = $1 AND category = $2

-- name: newsfeed.finish_tree_work
DELETE FROM newsfeed.tree_work WHERE namespace = $1 AND category = $2

-- name: newsfeed.drop_category
DELETE FROM newsfeed.categories WHERE namespace = $1 AND id = $2 AND is_deleting

-- name: newsfeed.unfinished_tree_work
SELECT w.namespace, w.category FROM newsfeed.tree_work w ORDER BY 1, 2 LIMIT 100
