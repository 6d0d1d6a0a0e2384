-- Each looks up one row by its index, whatever the planner believes of a table that grows quickly:
-- a plan may be older than most of its rows.
-- name: newsfeed.load_aliases
SELECT s.namespace, s.id, l.article_id, l.sent_hash
FROM unnest($1::text[], $2::text[]) AS s (namespace, id)
CROSS JOIN LATERAL ( SELECT l.article_id, l.sent_hash FROM newsfeed.article_aliases l
  WHERE l.namespace = s.namespace AND l.alias_id = s.id LIMIT 1) l

-- name: newsfeed.load_paths
SELECT s.namespace, s.id, c.path FROM unnest($1::text[], $2::text[]) AS s (namespace, id)
CROSS JOIN LATERAL (SELECT c.path FROM newsfeed.categories c
  WHERE c.namespace = s.namespace AND c.id = s.id AND NOT c.is_deleting LIMIT 1) c
