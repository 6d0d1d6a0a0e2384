-- name: newsfeed.read_changes
SELECT l.seq, l.namespace, l.id, a.published_at, l.left_feeds
FROM (SELECT l.seq, l.namespace, l.id, l.left_feeds FROM newsfeed.feed_log l
  WHERE l.seq > (SELECT $1::bigint) AND l.seq <= (SELECT $2::bigint) ORDER BY l.seq
  LIMIT (SELECT $3::bigint)) l
CROSS JOIN LATERAL (SELECT a.published_at FROM newsfeed.news_articles a
  WHERE a.namespace = l.namespace AND a.id = l.id LIMIT 1) a ORDER BY l.seq

-- name: newsfeed.read_freshness
SELECT s.namespace, f.changed_at, f.created_at, f.tree_revision
FROM unnest($1::text[]) AS s (namespace)
CROSS JOIN LATERAL (SELECT f.changed_at, f.created_at, f.tree_revision FROM newsfeed.feed_state f
  WHERE f.namespace = s.namespace LIMIT 1) f
