-- include: services/polling/jobs/job_fragments.sql

-- name: polling.list_kinds
SELECT kind, next_sweep_time <= polling.now() FROM polling.kinds ORDER BY kind

-- name: polling.set_swept
UPDATE polling.kinds k SET next_sweep_time = t.now + p.sweep_interval_us * interval '1 us'
FROM (SELECT polling.now() AS now) t, polling.policies p
WHERE k.kind = $1 AND p.kind = k.kind AND p.version = k.version AND k.next_sweep_time <= t.now

-- name: polling.get_policy
SELECT {policy_columns}, p.created_by, p.reason, p.create_time FROM polling.policies p
WHERE p.kind = $1 AND p.version = CASE WHEN $2::bigint > 0 THEN $2::bigint ELSE (SELECT version
  FROM polling.kinds WHERE kind = $1) END

-- Policies change one after the other: a new kind, the number of kinds, the keys of views and the
-- states of jobs in flight are looked at and hold.
-- name: polling.lock_policies
SELECT pg_advisory_xact_lock({policy_lock})

-- $2: keys of a view.
-- name: polling.clashing_view
SELECT p.view_prefix || s.state, k.kind FROM polling.kinds k
JOIN polling.policies p ON p.kind = k.kind AND p.version = k.version
CROSS JOIN unnest(p.states) AS s(state)
WHERE k.kind <> $1 AND p.view_prefix <> '' AND p.view_prefix || s.state = ANY ($2::text[]) LIMIT 1

-- name: polling.policy_by_request
SELECT version FROM polling.policies WHERE kind = $1 AND request_id = $2

-- name: polling.lock_kind
SELECT version FROM polling.kinds WHERE kind = $1 FOR UPDATE

-- name: polling.count_kinds
SELECT count(*) FROM polling.kinds

-- name: polling.stranded_job
SELECT j.id, j.state FROM polling.jobs j
WHERE j.kind = $1 AND j.phase <= 2 AND j.state <> ALL ($2::text[]) LIMIT 1

-- name: polling.insert_policy
INSERT INTO polling.policies (kind, version, states, transitions_from, transitions_to, lease_us,
  no_progress_us, deadline_us, sweep_interval_us, poll_interval_us, backoff_base_us,
  backoff_max_us, max_attempts, max_losses, view_prefix, created_by, reason, request_id,
  retention_us)
VALUES ($1, $2, $3::text[], $4::text[], $5::text[], $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
  $16, $17, nullif($18, ''), $19)

-- A shorter interval holds at once.
-- name: polling.point_kind
INSERT INTO polling.kinds AS k (kind, version) VALUES ($1, $2) ON CONFLICT (kind)
DO UPDATE SET version = excluded.version, next_sweep_time = least(k.next_sweep_time,
  polling.now() + $3::bigint * interval '1 us')

-- name: polling.audit
INSERT INTO polling.audit_entries (kind, actor, action, before, after, note, create_time)
VALUES ($1, $2, $3, $4, $5, $6, polling.now())

-- name: polling.set_pause
UPDATE polling.kinds SET pause_time = $2::timestamptz, paused_us = $3 WHERE kind = $1

-- name: polling.preview
SELECT s.why, count(*), (array_agg(s.id ORDER BY s.entered, s.id))[1:$6::int] FROM (
  SELECT j.id, j.entered,
    CASE WHEN j.entered <= $3::timestamptz - $4::bigint * interval '1 us' THEN 3
    WHEN j.ready_time <= $2::timestamptz THEN 1 ELSE 2 END AS why FROM polling.jobs j
  WHERE j.kind = $1 AND j.phase <= 2
    AND (j.entered <= $3::timestamptz - $4::bigint * interval '1 us' OR (j.phase = 2
    AND (j.ready_time <= $2::timestamptz OR j.progressed <= $3::timestamptz - $5::bigint *
    interval '1 us')))) s GROUP BY s.why ORDER BY s.why

-- name: polling.counts
SELECT state, phase, count(*), min(state_time),
  min(ready_time) FILTER (WHERE ready_time <= (SELECT polling.now())) FROM polling.jobs
WHERE kind = $1 AND (phase <= 2 OR $2) GROUP BY state, phase ORDER BY state, phase
