-- Articles whose own id, or whose merged id, sent the same before.
-- name: newsfeed.find_unchanged
WITH s AS MATERIALIZED (SELECT u.namespace, u.id, u.sent_hash, u.i
  FROM unnest($1::text[], $2::text[], $3::uuid[]) WITH ORDINALITY AS u (namespace, id, sent_hash,
    i))
SELECT s.i, f.id, f.revision FROM s
CROSS JOIN LATERAL (SELECT a.id, a.revision FROM newsfeed.news_articles a
  WHERE a.namespace = s.namespace AND a.id = s.id AND a.sent_hash = s.sent_hash LIMIT 1) f UNION ALL
SELECT s.i, f.id, f.revision FROM s
CROSS JOIN LATERAL (SELECT a.id, a.revision FROM newsfeed.article_aliases l
  JOIN newsfeed.news_articles a ON a.namespace = l.namespace AND a.id = l.article_id
  WHERE l.namespace = s.namespace AND l.alias_id = s.id AND l.sent_hash = s.sent_hash LIMIT 1) f

-- In key order, so that two of these never wait for each other in a circle.
-- name: newsfeed.seen
INSERT INTO newsfeed.last_seen AS l (namespace, id, last_seen_at)
SELECT s.namespace, s.id, $3::timestamptz FROM unnest($1::text[], $2::text[]) AS s (namespace, id)
ORDER BY s.namespace, s.id ON CONFLICT (namespace, id)
DO UPDATE SET last_seen_at = greatest(l.last_seen_at, excluded.last_seen_at)

-- name: newsfeed.write_aliases
INSERT INTO newsfeed.article_aliases (namespace, alias_id, article_id, sent_hash)
SELECT s.namespace, s.alias_id, s.article_id, s.sent_hash
FROM unnest($1::text[], $2::text[], $3::text[], $4::uuid[]) AS s (namespace, alias_id, article_id,
  sent_hash) ON CONFLICT (namespace, alias_id) DO UPDATE SET sent_hash = excluded.sent_hash
