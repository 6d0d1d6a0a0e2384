-- name: newsfeed.count_citations
SELECT c.namespace, c.original, count(*), (array_agg(DISTINCT c.channel
    ORDER BY c.channel))[1:$3::int] FROM unnest($1::text[], $2::text[]) AS s (namespace, id)
JOIN newsfeed.citations c ON c.namespace = s.namespace AND c.original = s.id
GROUP BY c.namespace, c.original

-- name: newsfeed.move_citations
WITH moved AS (DELETE FROM newsfeed.citations c USING unnest($1::text[], $2::text[],
  $3::text[]) AS s (namespace, alias_id, article_id)
  WHERE c.namespace = s.namespace AND c.original = s.alias_id
  RETURNING c.namespace, s.article_id, c.duplicate, c.channel, c.url, c.arrived_at)
INSERT INTO newsfeed.citations (namespace, original, duplicate, channel, url, arrived_at)
SELECT m.namespace, m.article_id, m.duplicate, m.channel, m.url, m.arrived_at FROM moved m
ON CONFLICT DO NOTHING RETURNING namespace, original

-- name: newsfeed.recount_citations
UPDATE newsfeed.news_articles a SET citation_count = c.count, citation_channels = c.channels
FROM (SELECT c.namespace, c.original, count(*) AS count, (array_agg(DISTINCT c.channel
      ORDER BY c.channel))[1:$3::int] AS channels
  FROM unnest($1::text[], $2::text[]) AS s (namespace, id)
  JOIN newsfeed.citations c ON c.namespace = s.namespace AND c.original = s.id
  GROUP BY c.namespace, c.original) c WHERE a.namespace = c.namespace AND a.id = c.original

-- name: newsfeed.insert_citations
INSERT INTO newsfeed.citations (namespace, original, duplicate, channel, url, arrived_at)
SELECT s.namespace, s.original, s.duplicate, s.channel, s.url, s.arrived_at
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[],
  $6::timestamptz[]) AS s (namespace, original, duplicate, channel, url, arrived_at)
ON CONFLICT DO NOTHING RETURNING namespace, original, channel

-- name: newsfeed.add_citations
UPDATE newsfeed.news_articles a
SET citation_count = a.citation_count + s.added,
  citation_channels = ARRAY(SELECT DISTINCT c.channel COLLATE "C"
  FROM unnest(a.citation_channels || s.channels::text[]) AS c (channel) ORDER BY 1 LIMIT $5::int)
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS s (namespace, id, added, channels)
WHERE a.namespace = s.namespace AND a.id = s.id RETURNING a.namespace, a.id
