-- include: services/collector/sources/source_fragments.sql

-- fragment: returning
RETURNING {source_columns}

-- name: collector.insert_source
INSERT INTO collector.sources (id, namespace, display_name, kind, credential, query, url, country,
  language, category, timeframe, channel, page_size, max_pages, by_similarity, skip_images,
  categories, interval_seconds, max_interval_seconds, current_interval_seconds, state, revision,
  failures, feed_etag, feed_modified, create_time, update_time, next_run_time)
SELECT $1, $2, $3, $4::smallint, $5, $6, $7, $8, $9, $10, $11, $12, $13::integer, $14::integer,
  $15::boolean, $16::boolean, $17::text[], $18::bigint, $19::bigint, $18::bigint, 1, 1, 0, '', '',
  now(), now(), now() WHERE (SELECT count(id) FROM collector.sources) < $20::bigint
ON CONFLICT (id) DO NOTHING {returning}

-- A wave of new feeds is spread over their first interval.
-- name: collector.insert_feeds
INSERT INTO collector.sources (id, namespace, display_name, kind, credential, query, url, country,
  language, category, timeframe, channel, page_size, max_pages, by_similarity, skip_images,
  categories, interval_seconds, max_interval_seconds, current_interval_seconds, state, revision,
  failures, feed_etag, feed_modified, create_time, update_time, next_run_time)
SELECT f.id, $5, f.title, 3, '', '', f.url, '', '', '', '', '', 0, 0, false, false,
  f.categories::text[], $6::bigint, $7::bigint, $6::bigint, 1, 1, 0, '', '', now(), now(),
  now() + random() * $6::bigint * interval '1 second'
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS f(id, url, title, categories)
ON CONFLICT (id) DO NOTHING RETURNING 1

-- name: collector.count_sources
SELECT count(id) FROM collector.sources

-- name: collector.get_source
SELECT {source_columns} FROM collector.sources WHERE id = $1

-- name: collector.get_source_for_update
SELECT {source_columns} FROM collector.sources WHERE id = $1 FOR UPDATE

-- name: collector.list_sources
SELECT {source_columns} FROM collector.sources WHERE id > $1 AND ($2 = '' OR namespace = $2)
ORDER BY id LIMIT $3::integer

-- Namespace and kind never change.
-- name: collector.update_source
UPDATE collector.sources
SET namespace = $2, display_name = $3, kind = $4::smallint, credential = $5, query = $6, url = $7,
  country = $8, language = $9, category = $10, timeframe = $11, channel = $12,
  page_size = $13::integer, max_pages = $14::integer, by_similarity = $15::boolean,
  skip_images = $16::boolean, categories = $17::text[], interval_seconds = $18::bigint,
  max_interval_seconds = $19::bigint, current_interval_seconds = $20::bigint,
  state = $21::smallint, failures = $22::integer, feed_etag = $23, feed_modified = $24,
  revision = revision + 1, update_time = now(),
  next_run_time = CASE WHEN $25::boolean THEN now() ELSE next_run_time END,
  unread_pages = unread_pages OR $26::boolean WHERE id = $1 {returning}

-- name: collector.delete_source
WITH asked AS (DELETE FROM collector.run_requests WHERE source_id = $1)
DELETE FROM collector.sources WHERE id = $1

-- name: collector.request_run
UPDATE collector.sources
SET requested_run_id = coalesce(requested_run_id, $2::uuid), next_run_time = least(next_run_time,
  now()) WHERE id = $1 AND state = 1 RETURNING requested_run_id

-- name: collector.find_run_request
SELECT run_id FROM collector.run_requests WHERE source_id = $1 AND request_id = $2

-- name: collector.keep_run_request
INSERT INTO collector.run_requests (source_id, request_id, run_id, create_time)
VALUES ($1, $2, $3::uuid, now())

-- name: collector.list_runs
SELECT {run_columns} FROM collector.runs WHERE id < $1::uuid ORDER BY id DESC LIMIT $2::integer

-- name: collector.list_source_runs
SELECT {run_columns} FROM collector.runs WHERE id < $1::uuid AND source_id = $3 ORDER BY id DESC
LIMIT $2::integer
