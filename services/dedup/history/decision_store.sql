-- include: services/dedup/log/decision_fragments.sql

-- name: dedup.get_decision
SELECT {decision_columns} FROM dedup.decisions WHERE namespace = $1 AND document_id = $2

-- name: dedup.list_duplicates
SELECT seq, document_id, channel, url, similarity, stage, arrival_time FROM dedup.decisions
WHERE namespace = $1 AND original_id = $2 AND seq > $3 ORDER BY seq LIMIT $4

-- The original's own channel is counted once, however often it was repeated.
-- name: dedup.count_channels
WITH repeated AS (SELECT channel, count(*) AS times FROM dedup.decisions
  WHERE namespace = $1 AND original_id = $2 GROUP BY channel)
SELECT channel, times, (sum(times) OVER ())::bigint AS duplicates,
  count(*) OVER () + ($3::text NOT IN (SELECT channel FROM repeated))::int AS channels FROM repeated
ORDER BY times DESC, channel LIMIT $4

-- name: dedup.get_channel
SELECT channel FROM dedup.decisions WHERE namespace = $1 AND document_id = $2
