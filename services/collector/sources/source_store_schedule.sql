-- include: services/collector/sources/source_fragments.sql

-- name: collector.take_lease
INSERT INTO collector.scheduler_lease AS l (holder, expire_time)
VALUES ($1::uuid, clock_timestamp() + $2::bigint * interval '1 ms') ON CONFLICT (only_row)
DO UPDATE SET holder = excluded.holder, expire_time = excluded.expire_time
WHERE l.holder = excluded.holder OR l.expire_time < clock_timestamp() OR l.expire_time >
  clock_timestamp() + 2 * $2::bigint * interval '1 ms' RETURNING clock_timestamp()

-- name: collector.release_lease
UPDATE collector.scheduler_lease SET expire_time = '-infinity' WHERE holder = $1::uuid

-- Two statements of one transaction; the second sees what the first left.
-- name: collector.record_lost_runs
INSERT INTO collector.runs ({run_columns})
SELECT run_id, id, namespace, kind, run_requested, 2, 'its process died', run_begin_time, now(),
  0, 0, 0, 0, 0, 0 FROM collector.sources
WHERE run_id IS NOT NULL AND run_holder <> $1::uuid FOR UPDATE ON CONFLICT (id) DO NOTHING

-- name: collector.free_lost_sources
UPDATE collector.sources
SET run_id = NULL, run_holder = NULL, run_begin_time = NULL, next_run_time = now(),
  unread_pages = true WHERE run_id IS NOT NULL AND run_holder <> $1::uuid

-- name: collector.claim_sources
WITH due(source_id, n) AS ( SELECT d.id, row_number() OVER (ORDER BY d.next_run_time, d.id)
  FROM (SELECT id, next_run_time FROM collector.sources
    WHERE state = 1 AND run_id IS NULL AND next_run_time <= clock_timestamp() ORDER BY next_run_time
    LIMIT $2::integer FOR UPDATE SKIP LOCKED) AS d)
UPDATE collector.sources
SET run_id = coalesce(requested_run_id, ($3::uuid[])[due.n::integer]),
  run_requested = requested_run_id IS NOT NULL, requested_run_id = NULL, run_holder = $1::uuid,
  run_begin_time = clock_timestamp() FROM due WHERE id = due.source_id AND EXISTS ( SELECT 1
  FROM collector.scheduler_lease WHERE holder = $1::uuid AND expire_time > clock_timestamp())
RETURNING {source_columns}, run_begin_time, run_requested

-- name: collector.end_run
UPDATE collector.sources
SET run_id = NULL, run_holder = NULL, run_begin_time = NULL, failures = $3::integer,
  current_interval_seconds = $4::bigint,
  state = CASE WHEN $5::boolean AND state = 1 THEN 3 ELSE state END,
  feed_etag = CASE WHEN revision = $9::bigint THEN $6 ELSE feed_etag END,
  feed_modified = CASE WHEN revision = $9::bigint THEN $7 ELSE feed_modified END,
  unread_pages = $11::boolean OR (revision <> $9::bigint AND unread_pages),
  success_time = CASE WHEN $8::boolean THEN now() ELSE success_time END,
  next_run_time = CASE
  WHEN requested_run_id IS NOT NULL OR revision <> $9::bigint THEN now() ELSE now() + $10::bigint
  * interval '1 second' END WHERE id = $1 AND run_id = $2::uuid RETURNING now()

-- name: collector.doubt_pages
UPDATE collector.sources SET unread_pages = true WHERE id = $1

-- A source that was deleted meanwhile has no row; its run is recorded all the same.
-- name: collector.insert_run
INSERT INTO collector.runs ({run_columns})
VALUES ($1::uuid, $2, $3, $4::smallint, $5::boolean, $6::smallint, $7, $8::timestamptz,
  $9::timestamptz, $10::bigint, $11::bigint, $12::bigint, $13::bigint, $14::bigint, $15::bigint)
ON CONFLICT (id) DO NOTHING RETURNING 1

-- name: collector.has_source
SELECT 1 FROM collector.sources WHERE id = $1

-- name: collector.delete_old_runs
DELETE FROM collector.runs WHERE id IN (SELECT id FROM collector.runs
  WHERE end_time < now() - $1::bigint * interval '1 second' AND position IS NOT NULL
  ORDER BY end_time LIMIT 1000)

-- name: collector.delete_old_run_requests
DELETE FROM collector.run_requests WHERE (source_id, request_id) IN ( SELECT source_id, request_id
  FROM collector.run_requests WHERE create_time < now() - $1::bigint * interval '1 second'
  ORDER BY create_time LIMIT 1000)

-- name: collector.runs_after
SELECT {run_columns}, position FROM collector.runs WHERE position > $1::bigint ORDER BY position
LIMIT $2::integer

-- name: collector.read_kinds
SELECT kind, count(*) FILTER (WHERE state = 1), count(*) FILTER (WHERE state = 3),
  coalesce(max(extract(epoch FROM now() - coalesce(success_time,
  create_time))) FILTER (WHERE state = 1), 0)::float8,
  coalesce(max(extract(epoch FROM now() - next_run_time)) FILTER (WHERE state = 1
  AND run_id IS NULL), 0)::float8 FROM collector.sources GROUP BY kind
