-- include: services/classification/runs/run_fragments.sql

-- A run and its video, locked in this order, and read as they are once the locks are held. Writers
-- of a run take turns: each counts from what the one before left.
-- fragment: locked_run
SELECT {run_columns}, r.video, coalesce(w.active_run, 0), coalesce(w.previous_run, 0),
  r.input_high, r.lease_epoch FROM classification.videos w
JOIN classification.runs r ON r.video = w.number WHERE r.id = $1

-- name: classification.read_run
{locked_run}

-- name: classification.share_run
{locked_run} FOR SHARE OF w FOR NO KEY UPDATE OF r

-- name: classification.lock_run
{locked_run} FOR NO KEY UPDATE OF w FOR NO KEY UPDATE OF r

-- name: classification.set_run_state
UPDATE classification.runs
SET state = $2::smallint, pause_reason = $3, lease_until = NULL,
  end_time = CASE WHEN $2::smallint = 5 THEN $4::timestamptz ELSE end_time END WHERE id = $1

-- The run's verdicts of these comments. The holder of the run's row is their only writer, but
-- for overrides, which hold the video alone.
-- name: classification.standing_verdicts
SELECT v.comment, coalesce(v.status, 0), coalesce(v.resolved, 0), v.failure, v.overridden,
  v.content_hash FROM unnest($1::bigint[]) AS u(comment)
CROSS JOIN LATERAL (SELECT x.comment, x.status, x.resolved, x.failure, x.overridden, x.content_hash
  FROM classification.verdicts x WHERE x.run = $2 AND x.comment = u.comment LIMIT 1) v

-- fragment: insert_verdicts
INSERT INTO classification.verdicts AS v (run, comment, status, resolved, failure, source, score,
  content_hash, reason, sort_time, decide_time)
SELECT $8, u.comment, nullif(u.status, 0), nullif(u.status, 0), u.failure, u.source, u.score,
  u.hash, u.reason, c.sort_time, $9::timestamptz
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::float8[], $6::bigint[],
  $7::text[]) AS u(comment, status, failure, source, score, hash, reason)
CROSS JOIN LATERAL (SELECT sort_time FROM classification.comments WHERE number = u.comment
  LIMIT 1) c

-- name: classification.insert_verdicts
{insert_verdicts}

-- name: classification.change_verdicts
{insert_verdicts} ON CONFLICT (run, comment)
DO UPDATE SET status = excluded.status,
  resolved = CASE WHEN v.overridden THEN v.resolved ELSE excluded.resolved END,
  failure = excluded.failure, source = excluded.source, score = excluded.score,
  content_hash = excluded.content_hash, reason = excluded.reason, decide_time = excluded.decide_time

-- A run of which nothing is missing is complete, in the same statement.
-- name: classification.count_run
UPDATE classification.runs
SET classified = classified + $2, failed = failed + $3, n_normal = n_normal + $4,
  n_filtered = n_filtered + $5, n_suggestion = n_suggestion + $6,
  state = CASE WHEN classified + $2 + failed + $3 >= input_count THEN 4 ELSE state END,
  end_time = CASE WHEN classified + $2 + failed + $3 >= input_count THEN $7::timestamptz ELSE
  end_time END WHERE id = $1 RETURNING state, input_count - classified - failed

-- name: classification.audit_changes
INSERT INTO classification.audit_entries (namespace, video_id, comment_id, run, actor, action,
  before, after, create_time)
SELECT $1, $2, c.id, $3, $4, 'ingest', u.before, u.after, $8::timestamptz
FROM unnest($5::bigint[], $6::text[], $7::text[]) AS u(comment, before, after)
CROSS JOIN LATERAL (SELECT id FROM classification.comments WHERE number = u.comment LIMIT 1) c

-- name: classification.settle_cost
WITH settled AS (DELETE FROM classification.reservations WHERE id = $2 AND run = $1 RETURNING id)
UPDATE classification.runs SET calls = calls + $3, cost_micros = cost_micros + $4
WHERE id = $1 AND EXISTS (SELECT id FROM settled)

-- name: classification.charge_reservations
WITH gone AS (DELETE FROM classification.reservations WHERE run = $1 RETURNING micros)
UPDATE classification.runs SET calls = calls + (SELECT count(*)
  FROM gone), cost_micros = cost_micros + (SELECT coalesce(sum(micros), 0) FROM gone) WHERE id = $1

-- fragment: cache_key
sha256(convert_to($1 || c.body, 'UTF8'))

-- fragment: cached_comment
CROSS JOIN LATERAL (SELECT body FROM classification.comments x
  WHERE x.number = u.comment AND x.content_hash = u.hash LIMIT 1) c

-- name: classification.read_cache
SELECT u.comment, u.hash, v.status, v.source, v.score, v.reason
FROM unnest($2::bigint[], $3::bigint[]) AS u(comment, hash) {cached_comment}
CROSS JOIN LATERAL (SELECT status, source, score, reason FROM classification.verdict_cache
  WHERE key = {cache_key} LIMIT 1) v

-- What a model said; rules cost nothing, and failures are asked again.
-- name: classification.put_cache
INSERT INTO classification.verdict_cache (key, status, source, score, reason, create_time)
SELECT {cache_key}, u.status, u.source, u.score, u.reason, $8::timestamptz
FROM unnest($2::bigint[], $3::bigint[], $4::smallint[], $5::smallint[], $6::real[],
  $7::text[]) AS u(comment, hash, status, source, score, reason) {cached_comment}
WHERE u.status <> 0 AND u.source IN (2, 3) ON CONFLICT DO NOTHING
