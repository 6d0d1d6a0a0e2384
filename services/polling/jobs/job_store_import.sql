-- name: polling.import_jobs
WITH u AS MATERIALIZED (SELECT n.id, n.payload, n.state_time, n.entered, n.state
  FROM unnest($1::text[], $2::bytea[], $3::timestamptz[], $4::timestamptz[], $5::text[]) AS n(id,
    payload, state_time, entered, state)),
made AS (INSERT INTO polling.jobs (kind, id, state, phase, payload, create_time, state_time,
  ready_time, entered, progressed)
  SELECT $6, u.id, u.state, 1, u.payload, u.state_time, u.state_time, $7::timestamptz, u.entered,
    u.entered FROM u ORDER BY u.id ON CONFLICT (kind, id) DO NOTHING RETURNING id, state),
noted AS (INSERT INTO polling.job_events (kind, id, event_time, change, to_state, phase, token,
  request, note, actor) SELECT $6, m.id, $7::timestamptz, 1, m.state, 1, 0, $8, $9, $10 FROM made m)
SELECT id FROM made

-- name: polling.read_places
SELECT j.id, j.state, j.phase FROM polling.jobs j WHERE j.kind = $1 AND j.id = ANY ($2::text[])
