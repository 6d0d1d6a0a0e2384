-- include: services/polling/jobs/job_fragments.sql

-- name: polling.read_kind
SELECT polling.now(), k.pause_time, k.paused_us, {policy_columns} FROM polling.kinds k
JOIN polling.policies p ON p.kind = k.kind AND p.version = k.version WHERE k.kind = $1

-- name: polling.keep_policies
SELECT pg_advisory_xact_lock_shared({policy_lock})

-- name: polling.update_job
UPDATE polling.jobs
SET state = $3, phase = $4, state_time = $5::timestamptz, ready_time = $6::timestamptz,
  entered = $7::timestamptz, progressed = $8::timestamptz, token = $9, owner = $10,
  failures = $11, losses = $12, cancel_requested = $13, reason = $14, percent = $15, note = $16,
  last_request = $17 WHERE kind = $1 AND id = $2

-- name: polling.set_result
UPDATE polling.jobs SET result = $3::bytea WHERE kind = $1 AND id = $2

-- name: polling.insert_event
INSERT INTO polling.job_events (kind, id, event_time, change, reason, from_state, to_state, phase,
  token, owner, note, request, actor)
VALUES ($1, $2, $3::timestamptz, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
