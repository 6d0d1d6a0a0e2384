-- name: dedup.stats_hours
SELECT date_bin('1 hour', arrival_time, '1970-01-01 00:00:00+00') AS hour, count(*),
  count(*) FILTER (WHERE verdict = 2) FROM dedup.decisions
WHERE namespace = $1 AND seq >= $2 AND seq < $3 GROUP BY hour ORDER BY hour

-- Which channel has a story first: of those that others repeated within the range.
-- name: dedup.stats_channels
WITH firsts AS (SELECT o.channel, count(*) AS stories FROM (SELECT DISTINCT original_id
    FROM dedup.decisions
    WHERE namespace = $1 AND seq >= $2 AND seq < $3 AND original_id IS NOT NULL) AS cited
  CROSS JOIN LATERAL (SELECT channel FROM dedup.decisions
    WHERE namespace = $1 AND document_id = cited.original_id LIMIT 1) AS o GROUP BY o.channel),
counted AS (SELECT channel, count(*) AS documents, count(*) FILTER (WHERE verdict = 2) AS duplicates
  FROM dedup.decisions WHERE namespace = $1 AND seq >= $2 AND seq < $3 GROUP BY channel)
SELECT channel, coalesce(documents, 0) AS documents, coalesce(duplicates, 0), coalesce(stories, 0)
FROM counted FULL JOIN firsts USING (channel) ORDER BY documents DESC, channel LIMIT $4

-- name: dedup.stats_stages
SELECT stage, count(*) FROM dedup.decisions WHERE namespace = $1 AND seq >= $2 AND seq < $3
GROUP BY stage ORDER BY stage

-- name: dedup.stats_similarities
SELECT least(floor(nearest * $4)::int, $4 - 1) AS bucket, verdict, count(*) FROM dedup.decisions
WHERE namespace = $1 AND seq >= $2 AND seq < $3 GROUP BY bucket, verdict

-- Reviewed: drawn for review, and looked at. By kind.
-- name: dedup.stats_reviews
SELECT r.kind, count(*), count(*) FILTER (WHERE said.verdict <> d.verdict) FROM dedup.reviews r
CROSS JOIN LATERAL (SELECT verdict FROM dedup.overrides
  WHERE namespace = $1 AND document_id = r.document_id ORDER BY revision DESC LIMIT 1) AS said
CROSS JOIN LATERAL (SELECT verdict FROM dedup.decisions
  WHERE namespace = $1 AND document_id = r.document_id LIMIT 1) AS d
WHERE r.namespace = $1 AND r.seq >= $2 AND r.seq < $3 GROUP BY r.kind

-- By verdict: all, and those near a threshold.
-- name: dedup.stats_near
SELECT verdict, count(*),
  count(*) FILTER (WHERE CASE verdict WHEN 1 THEN nearest > 0 ELSE stage NOT IN (1, 2) END)
FROM dedup.decisions WHERE namespace = $1 AND seq >= $2 AND seq < $3 GROUP BY verdict
