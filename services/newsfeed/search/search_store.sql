-- name: newsfeed.insert_search
INSERT INTO newsfeed.article_search (namespace, published_at, id, article_number, grams, rules)
SELECT s.namespace, s.published_at, s.id, s.number, s.grams::int[], $6::smallint
FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::bigint[], $5::text[]) AS s (namespace,
  published_at, id, number, grams)

-- name: newsfeed.delete_search
DELETE FROM newsfeed.article_search k USING unnest($1::text[], $2::timestamptz[],
  $3::text[]) AS s (namespace, published_at, id)
WHERE k.namespace = s.namespace AND k.published_at = s.published_at AND k.id = s.id

-- name: newsfeed.merge_search
SELECT gin_clean_pending_list('newsfeed.article_search_grams'::regclass)
