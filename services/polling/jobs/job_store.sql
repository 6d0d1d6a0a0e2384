-- include: services/polling/jobs/job_fragments.sql

-- name: polling.lock_job
SELECT {job_columns} FROM polling.jobs j WHERE j.kind = $1 AND j.id = $2 FOR NO KEY UPDATE

-- Whether history has the request: $4 has the changes that its command makes. Of its own, for
-- it must see what was committed while the other waited for the lock.
-- name: polling.was_done
SELECT 1 FROM polling.job_events e
WHERE e.kind = $1 AND e.id = $2 AND e.request = $3 AND e.change = ANY ($4::smallint[]) LIMIT 1

-- name: polling.get_job
SELECT {job_columns} FROM polling.jobs j WHERE j.kind = $1 AND j.id = $2

-- The same without payload and result, for lists and what follows a command.
-- fragment: job_columns_bare
j.kind, j.id, j.state, j.phase, ''::bytea, j.create_time, j.state_time, j.ready_time, j.entered,
  j.progressed, j.token, j.owner, j.failures, j.losses, j.cancel_requested, j.reason, j.percent,
  j.note, ''::bytea, j.last_request

-- name: polling.list_jobs
SELECT {job_columns_bare} FROM polling.jobs j
WHERE j.kind = $1 AND j.id > $2 AND ($3 = '' OR j.state = $3)
  AND ($4::smallint = 0 OR j.phase = $4::smallint) AND ($5 = '' OR j.owner = $5)
  AND j.state_time <= (SELECT polling.now()) - $6::bigint * interval '1 microsecond' ORDER BY j.id
LIMIT $7

-- name: polling.kind_exists
SELECT 1 FROM polling.kinds WHERE kind = $1

-- name: polling.list_job_events
SELECT {event_columns} FROM polling.job_events WHERE kind = $1 AND id = $2 AND number > $3
ORDER BY number LIMIT $4

-- name: polling.insert_jobs
WITH u AS MATERIALIZED (SELECT n.id, n.state, n.payload, n.delay, n.place
  FROM unnest($1::text[], $2::bytea[], $3::text[], $4::bigint[]) WITH ORDINALITY AS n(id, payload,
    state, delay, place)),
made AS (INSERT INTO polling.jobs (kind, id, state, phase, payload, create_time, state_time,
  ready_time, entered, progressed)
  SELECT $5, u.id, u.state, 1, u.payload, $6::timestamptz, $6::timestamptz,
    $6::timestamptz + u.delay * interval '1 microsecond', $7::timestamptz, $7::timestamptz FROM u
  ORDER BY u.id ON CONFLICT (kind, id) DO NOTHING RETURNING id, state),
logged AS (INSERT INTO polling.job_events (kind, id, event_time, change, to_state, phase, token,
  request) SELECT $5, m.id, $6::timestamptz, 1, m.state, 1, 0, $8 FROM made m)
SELECT id FROM made

-- name: polling.read_payloads
SELECT u.id, j.payload FROM unnest($2::text[]) AS u(id)
CROSS JOIN LATERAL (SELECT x.payload FROM polling.jobs x WHERE x.kind = $1 AND x.id = u.id
  LIMIT 1) j
