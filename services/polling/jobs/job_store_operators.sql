-- include: services/polling/jobs/job_fragments.sql

-- As the machine requeues one. $3: a StaleReason, 0 for any; $6: states that the kind has.
-- name: polling.kick
WITH {kind_now}, due AS MATERIALIZED (SELECT x.id, x.token, x.ready_time FROM polling.jobs x
  WHERE x.kind = $1 AND x.phase > 2 AND x.phase = 3
    AND ($3::smallint = 0 OR x.reason = $3::smallint) AND x.state = ANY ($6::text[])
  ORDER BY x.ready_time, x.id LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED),
moved AS (UPDATE polling.jobs j
  SET phase = 1, ready_time = k.now, state_time = k.now, entered = k.kind_now,
    progressed = greatest(j.progressed, k.kind_now), failures = 0, losses = 0, reason = 0,
    cancel_requested = FALSE, owner = '' FROM due d CROSS JOIN k WHERE j.kind = $1 AND j.id = d.id
  RETURNING j.id, j.state, j.token, d.ready_time AS place, k.now),
logged AS (INSERT INTO polling.job_events (kind, id, event_time, change, from_state, to_state,
  phase, token, note, actor)
  SELECT $1, m.id, m.now, 10, m.state, m.state, 1, m.token, $4::text, $5::text FROM moved m
  ORDER BY m.place, m.id)
SELECT m.id FROM moved m ORDER BY m.place, m.id

-- $2: phases; $3: how long ago they ended, at least.
-- fragment: purged
SELECT x.id FROM polling.jobs x
WHERE x.kind = $1 AND x.phase > 2 AND x.phase = ANY ($2::smallint[])
  AND x.ready_time <= (SELECT polling.now()) - $3::bigint * interval '1 microsecond'

-- name: polling.count_purged
SELECT count(*) FROM ({purged}) p

-- name: polling.list_purged
{purged} ORDER BY x.ready_time, x.id LIMIT $4

-- name: polling.purge
WITH due AS MATERIALIZED ({purged} ORDER BY x.ready_time, x.id LIMIT $4 FOR UPDATE SKIP LOCKED),
gone AS (DELETE FROM polling.jobs j USING due d WHERE j.kind = $1 AND j.id = d.id RETURNING j.id),
logged AS (DELETE FROM polling.job_events e USING gone g WHERE e.kind = $1 AND e.id = g.id)
SELECT id FROM gone ORDER BY id

-- $2: how many. Phases that PurgeJobs takes by default.
-- name: polling.expire
WITH t AS MATERIALIZED (SELECT polling.now() AS now),
due AS MATERIALIZED (SELECT x.id FROM polling.kinds k
  JOIN polling.policies p ON p.kind = k.kind AND p.version = k.version CROSS JOIN t
  CROSS JOIN LATERAL (SELECT y.id FROM polling.jobs y
    WHERE y.kind = $1 AND y.phase > 3
      AND y.ready_time <= t.now - p.retention_us * interval '1 microsecond'
    ORDER BY y.ready_time, y.id LIMIT $2 FOR UPDATE SKIP LOCKED) x WHERE k.kind = $1),
gone AS (DELETE FROM polling.jobs j USING due d WHERE j.kind = $1 AND j.id = d.id RETURNING j.id),
logged AS (DELETE FROM polling.job_events e USING gone g WHERE e.kind = $1 AND e.id = g.id)
SELECT count(*) FROM gone

-- One call of a request id at a time: it waits for the other's end, and then sees what that did.
-- name: polling.lock_request
SELECT pg_advisory_xact_lock(hashtextextended( 'winnow.polling.request/' || $1::text || '/' ||
  $2::text || '/' || $3::text, 0))

-- name: polling.find_request
SELECT job_count, job_ids FROM polling.audit_entries
WHERE kind = $1 AND action = $2 AND request_id = $3

-- name: polling.audit_many
INSERT INTO polling.audit_entries (kind, actor, action, after, note, request_id, job_count,
  job_ids, create_time)
VALUES ($1, $2, $3, $4::text, $5, nullif($6, ''), $4::text::bigint, $7::text[], polling.now())
