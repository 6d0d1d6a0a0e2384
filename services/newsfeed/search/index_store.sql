-- name: newsfeed.begin_index
INSERT INTO newsfeed.index_progress AS p (rules, done_number, is_complete) VALUES ($1, 0, FALSE)
ON CONFLICT (only_row) DO UPDATE SET rules = excluded.rules, done_number = 0, is_complete = FALSE
WHERE p.rules < excluded.rules

-- name: newsfeed.read_index_progress
SELECT p.rules, p.done_number, p.is_complete FROM newsfeed.index_progress p

-- What happened after position $1 of the log, at most $2 of it: articles that came (their number is
-- that position; they are found also where the log begins later) and that were changed, maybe by a
-- process of other rules. Whether each lacks its row of rules $3.
-- name: newsfeed.look_at_index
SELECT p.seq, a.number, NOT a.is_deleted AND s.rules IS DISTINCT FROM $3::smallint
FROM ( (SELECT n.number AS seq, n.namespace, n.id FROM newsfeed.news_articles n
    WHERE n.number > (SELECT $1::bigint) ORDER BY n.number LIMIT (SELECT $2::bigint))
  UNION ALL (SELECT l.seq, l.namespace, l.id FROM newsfeed.feed_log l
    WHERE l.seq > (SELECT $1::bigint) AND l.change <> 1 ORDER BY l.seq LIMIT (SELECT $2::bigint))
  ORDER BY seq LIMIT (SELECT $2::bigint)) p
CROSS JOIN LATERAL (SELECT a.number, a.namespace, a.published_at, a.id, a.is_deleted
  FROM newsfeed.news_articles a WHERE a.namespace = p.namespace AND a.id = p.id LIMIT 1) a
LEFT JOIN LATERAL (SELECT s.rules FROM newsfeed.article_search s
  WHERE s.namespace = a.namespace AND s.published_at = a.published_at
    AND s.id = a.id OFFSET 0) s ON TRUE ORDER BY p.seq

-- name: newsfeed.advance_index
UPDATE newsfeed.index_progress
SET done_number = greatest(done_number, $2::bigint), is_complete = is_complete OR $3::boolean
WHERE rules = $1

-- The keywords that an article has by its entries, by whatever rules.
-- name: newsfeed.drop_keywords
DELETE FROM newsfeed.article_keywords k USING (SELECT DISTINCT split_part(e.feed, '/',
  1) AS namespace, t.term, e.publish_time, e.id FROM unnest($1::bigint[]) AS s (number)
  CROSS JOIN LATERAL (SELECT e.feed, e.publish_time, e.id, e.terms FROM newsfeed.feed_entries e
    WHERE e.article_number = s.number OFFSET 0) e
  CROSS JOIN LATERAL unnest(tsvector_to_array(e.terms)) AS t (term)) g
WHERE k.namespace = g.namespace AND k.keyword = g.term AND k.published_at = g.publish_time
  AND k.id = g.id
