-- name: newsfeed.insert_entries
INSERT INTO newsfeed.feed_entries (feed, publish_time, id, source, language, has_image, terms,
  seq, article_number)
SELECT s.feed, s.publish_time, s.id, s.source, s.language, s.has_image,
  array_to_tsvector(s.terms::text[]), s.seq, s.number
FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::boolean[],
  $7::text[], $8::bigint[], $9::bigint[]) AS s (feed, publish_time, id, source, language,
  has_image, terms, seq, number)

-- name: newsfeed.delete_entries
DELETE FROM newsfeed.feed_entries e USING unnest($1::text[], $2::timestamptz[],
  $3::text[]) AS s (feed, publish_time, id)
WHERE e.feed = s.feed AND e.publish_time = s.publish_time AND e.id = s.id

-- name: newsfeed.refresh_entries
UPDATE newsfeed.feed_entries e
SET source = s.source, language = s.language, has_image = s.has_image,
  terms = array_to_tsvector(s.terms::text[])
FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::boolean[],
  $7::text[]) AS s (feed, publish_time, id, source, language, has_image, terms)
WHERE e.feed = s.feed AND e.publish_time = s.publish_time AND e.id = s.id

-- name: newsfeed.feeds_of_articles
SELECT s.number, e.feed FROM unnest($1::bigint[]) AS s (number)
CROSS JOIN LATERAL ( SELECT e.feed FROM newsfeed.feed_entries e
  WHERE e.article_number = s.number OFFSET 0) e
