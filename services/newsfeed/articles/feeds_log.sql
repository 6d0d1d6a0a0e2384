-- Appends changes, and notes what that means for their namespaces: $6 when, $7 which, $8 whether
-- anything came into it.
-- name: newsfeed.append_changes
WITH fresh AS (INSERT INTO newsfeed.feed_state AS f (namespace, changed_at, created_at)
  SELECT s.namespace, $6::timestamptz, CASE WHEN s.created THEN $6::timestamptz END
  FROM unnest($7::text[], $8::boolean[]) AS s (namespace, created) ON CONFLICT (namespace)
  DO UPDATE SET changed_at = excluded.changed_at, created_at = coalesce(excluded.created_at,
    f.created_at))
INSERT INTO newsfeed.feed_log (seq, namespace, id, change, left_feeds)
SELECT $1::bigint + s.i - 1, s.namespace, s.id, s.change, s.left_feeds::text[]
FROM unnest($2::text[], $3::text[], $4::smallint[], $5::text[]) WITH ORDINALITY AS s (namespace,
  id, change, left_feeds, i)

-- name: newsfeed.prune_changes
DELETE FROM newsfeed.feed_log WHERE seq <= $1

-- name: newsfeed.find_change
SELECT 1 FROM newsfeed.feed_log WHERE seq = $1 AND namespace = $2 AND id = $3
