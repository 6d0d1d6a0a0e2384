-- In one order, so that there are no deadlocks; the log's lock ensures that as well. What is more
-- than $7 days old goes.
-- name: newsfeed.add_counters
WITH expired AS (DELETE FROM newsfeed.feed_counters
  WHERE day < ($1::timestamptz AT TIME ZONE 'UTC')::date - $7::int)
INSERT INTO newsfeed.feed_counters AS c (namespace, day, kind, key, articles, citations)
SELECT s.namespace, ($1::timestamptz AT TIME ZONE 'UTC')::date, s.kind, s.key, s.articles,
  s.citations
FROM unnest($2::text[], $3::smallint[], $4::text[], $5::bigint[], $6::bigint[]) AS s (namespace,
  kind, key, articles, citations) ORDER BY s.namespace, s.kind, s.key
ON CONFLICT (namespace, day, kind, key)
DO UPDATE SET articles = c.articles + excluded.articles,
  citations = c.citations + excluded.citations

-- name: newsfeed.read_counters
WITH top AS MATERIALIZED (SELECT c.key, sum(c.articles) AS articles, sum(c.citations) AS citations
  FROM newsfeed.feed_counters c
  WHERE c.namespace = $1 AND c.day >= ($3::timestamptz AT TIME ZONE 'UTC')::date
    AND c.kind = $2::smallint GROUP BY c.key ORDER BY sum(c.articles) + sum(c.citations) DESC, c.key
  LIMIT $4)
SELECT t.key, t.articles, t.citations, c.day::timestamp AT TIME ZONE 'UTC', c.articles, c.citations
FROM top t
JOIN newsfeed.feed_counters c ON c.namespace = $1
  AND c.day >= ($3::timestamptz AT TIME ZONE 'UTC')::date AND c.kind = $2::smallint
  AND c.key = t.key ORDER BY t.articles + t.citations DESC, t.key, c.day
