-- name: newsfeed.category_exists
SELECT 1 FROM newsfeed.categories WHERE namespace = $1 AND id = $2 AND NOT is_deleting

-- $1 feed, $2 position, $3 whether it is of a token, $4 rows to look at, $5 sources, $6 languages,
-- $7 has_image, $8 and $9 publish time (from, until), $10 keywords. Looked at: how many rows,
-- filtered or not.
-- name: newsfeed.count_newer
WITH fresh AS MATERIALIZED (SELECT e.source, e.language, e.has_image, e.publish_time, e.terms
  FROM newsfeed.feed_entries e
  WHERE e.feed = (SELECT $1::text) AND e.seq > (SELECT $2::bigint)
    AND (NOT $3::boolean OR EXISTS (SELECT FROM newsfeed.log_streams l
      WHERE l.stream = 'feeds' AND l.head >= $2::bigint)) ORDER BY e.seq
  LIMIT (SELECT $4::bigint + 1))
SELECT count(*) FILTER (WHERE ($5::text[] IS NULL OR e.source = ANY ($5))
  AND ($6::text[] IS NULL OR e.language = ANY ($6))
  AND ($7::boolean IS NULL OR e.has_image = $7) AND e.publish_time >= $8::timestamptz
  AND e.publish_time < $9::timestamptz AND ($10::tsquery IS NULL OR e.terms @@ $10)), count(*)
FROM fresh e
