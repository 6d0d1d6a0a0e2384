-- name: newsfeed.insert_keywords
INSERT INTO newsfeed.article_keywords (namespace, keyword, published_at, id, signature)
SELECT s.namespace, s.keyword, s.published_at, s.id, s.signature
FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::bigint[]) AS s (namespace,
  keyword, published_at, id, signature)

-- name: newsfeed.delete_keywords
DELETE FROM newsfeed.article_keywords k USING unnest($1::text[], $2::text[], $3::timestamptz[],
  $4::text[]) AS s (namespace, keyword, published_at, id)
WHERE k.namespace = s.namespace AND k.keyword = s.keyword AND k.published_at = s.published_at
  AND k.id = s.id

-- How common each keyword is, so far as it matters.
-- name: newsfeed.count_keywords
SELECT (SELECT count(*) FROM (SELECT 1 FROM newsfeed.article_keywords k
    WHERE k.namespace = (SELECT $1::text) AND k.keyword = s.keyword LIMIT 1000) l)
FROM unnest($2::text[]) WITH ORDINALITY AS s (keyword, i) ORDER BY s.i
