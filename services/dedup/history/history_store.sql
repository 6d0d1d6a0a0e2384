-- include: services/dedup/log/decision_fragments.sql

-- The inner limit bounds what a rare filter reads.
-- name: dedup.list_decisions
SELECT {decision_columns}, seq FROM (SELECT {decision_columns}, seq FROM dedup.decisions
  WHERE namespace = $1 AND seq >= $2 AND seq < $3 ORDER BY seq DESC LIMIT $4) AS newest
WHERE ($5 = 0 OR verdict = $5) AND ($6 = '' OR channel = $6) ORDER BY seq DESC LIMIT $7

-- name: dedup.read_decisions_after
SELECT {decision_columns}, seq FROM dedup.decisions WHERE namespace = $1 AND seq > $2 AND seq <= $3
ORDER BY seq LIMIT $4

-- name: dedup.top_cited
WITH cited AS MATERIALIZED (SELECT original_id, count(*) AS times, max(arrival_time) AS newest,
  array_agg(DISTINCT channel) AS channels FROM dedup.decisions
  WHERE namespace = $1 AND seq >= $2 AND seq < $3 AND original_id IS NOT NULL
  GROUP BY original_id HAVING $5::bigint = 0 OR (-count(*), original_id) > (-$5::bigint, $6::text)
  ORDER BY times DESC, original_id LIMIT $4)
SELECT c.original_id, o.channel, o.url, o.arrival_time, c.times,
  cardinality(c.channels) + (o.channel <> ALL (c.channels))::int, c.newest FROM cited c
CROSS JOIN LATERAL (SELECT channel, url, arrival_time FROM dedup.decisions
  WHERE namespace = $1 AND document_id = c.original_id LIMIT 1) AS o
ORDER BY c.times DESC, c.original_id

-- name: dedup.read_overrides
SELECT wanted.id, o.verdict, o.original_id, o.reason, o.created_by, o.create_time, o.revision
FROM unnest($2::text[]) AS wanted(id)
CROSS JOIN LATERAL (SELECT verdict, original_id, reason, created_by, create_time, revision
  FROM dedup.overrides WHERE namespace = $1 AND document_id = wanted.id ORDER BY revision DESC
  LIMIT 1) AS o
