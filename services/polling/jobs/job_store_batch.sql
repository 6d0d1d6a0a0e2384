-- include: services/polling/jobs/job_fragments.sql

-- What becomes of a job that is claimed or swept.
-- fragment: Fate.claimed = 1
-- fragment: Fate.reclaimed = 2
-- fragment: Fate.poisoned = 3
-- fragment: Fate.cancelled = 4
-- fragment: Fate.returned = 5
-- fragment: Fate.past_deadline = 6

-- History of the rows of `moved`, which carries fate, why (a StaleReason) and who had it before;
-- a cancelled one is first taken from its worker. Operators and commands of the worker itself are
-- reported by WriteOutcome.
-- fragment: log_moved
logged AS (INSERT INTO polling.job_events (kind, id, event_time, change, reason, from_state,
  to_state, phase, token, owner)
  SELECT $1, m.id, m.now, e.change,
    CASE m.fate WHEN {Fate.poisoned} THEN {StaleReason.kPoison} ELSE m.why * e.has_why END, m.state,
    m.state, m.phase, m.old_token, m.old_owner FROM moved m
  JOIN (VALUES ({Fate.reclaimed}, {Change.kReturned}, 1), ({Fate.poisoned}, {Change.kBuried}, 1),
    ({Fate.cancelled}, {Change.kReturned}, 1), ({Fate.cancelled}, {Change.kCancelled}, 0),
    ({Fate.returned}, {Change.kReturned}, 1), ({Fate.past_deadline}, {Change.kBuried}, 1))
    AS e(fate, change, has_why) ON e.fate = m.fate ORDER BY m.place, e.change)

-- name: polling.claim
WITH {kind_now},
due AS MATERIALIZED (SELECT x.id, x.ready_time, x.token AS old_token, x.owner AS old_owner,
  CASE WHEN x.phase = {Phase.kWaiting} THEN {Fate.claimed}
    WHEN x.cancel_requested THEN {Fate.cancelled}
    WHEN x.losses + 1 >= k.max_losses THEN {Fate.poisoned} ELSE {Fate.reclaimed} END AS fate FROM k
  CROSS JOIN LATERAL (SELECT y.id, y.ready_time, y.token, y.owner, y.phase, y.cancel_requested,
    y.losses FROM polling.jobs y
    WHERE y.kind = $1 AND y.phase <= {Phase.kLeased} AND y.ready_time <= k.now
    ORDER BY y.ready_time, y.id LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED) x WHERE NOT k.is_paused),
moved AS (UPDATE polling.jobs j
  SET phase = CASE d.fate WHEN {Fate.poisoned} THEN {Phase.kBuried}
      WHEN {Fate.cancelled} THEN {Phase.kCancelled} ELSE {Phase.kLeased} END,
    token = CASE WHEN d.fate <= {Fate.reclaimed} THEN nextval('polling.tokens') ELSE j.token END,
    owner = CASE WHEN d.fate <= {Fate.reclaimed} THEN $2 ELSE '' END,
    losses = j.losses + CASE WHEN d.fate = {Fate.claimed} THEN 0 ELSE 1 END,
    reason = CASE WHEN d.fate = {Fate.poisoned} THEN {StaleReason.kPoison} ELSE j.reason END,
    ready_time = CASE WHEN d.fate <= {Fate.reclaimed} THEN k.now + k.lease ELSE k.now END,
    progressed = CASE WHEN d.fate <= {Fate.reclaimed} THEN greatest(j.progressed, k.kind_now)
      ELSE j.progressed END
  FROM due d CROSS JOIN k WHERE j.kind = $1 AND j.id = d.id
  RETURNING {job_columns}, d.fate, 1 AS why, d.old_token, d.old_owner, d.ready_time AS place,
    k.now),
{log_moved}
SELECT {job_columns}, j.fate, j.old_token, j.old_owner, j.now FROM moved j ORDER BY j.place, j.id

-- name: polling.heartbeat
WITH {kind_now}
UPDATE polling.jobs j SET ready_time = greatest(j.ready_time, k.now + k.lease)
FROM unnest($2::text[], $3::bigint[]) AS u(id, token) CROSS JOIN k
WHERE j.kind = $1 AND j.id = u.id AND j.token = u.token AND j.phase = {Phase.kLeased}
RETURNING j.id, j.token, j.cancel_requested, j.ready_time

-- The clocks differ in which jobs they find; what becomes of those is the same.
-- fragment: sweep(stale)
WITH {kind_now},
due AS MATERIALIZED (SELECT x.id, x.token AS old_token, x.owner AS old_owner, x.why,
  CASE WHEN x.why = {StaleReason.kDeadline} THEN {Fate.past_deadline}
    WHEN x.cancel_requested THEN {Fate.cancelled}
    WHEN x.losses + 1 >= k.max_losses THEN {Fate.poisoned} ELSE {Fate.returned} END AS fate FROM k
  CROSS JOIN LATERAL (SELECT y.id, y.token, y.owner, y.cancel_requested, y.losses,
    CASE WHEN y.entered <= k.kind_now - k.deadline THEN {StaleReason.kDeadline}
      WHEN y.ready_time <= k.now THEN {StaleReason.kLeaseLost}
      ELSE {StaleReason.kNoProgress} END AS why FROM polling.jobs y
    WHERE y.kind = $1 AND {stale} LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED) x),
moved AS (UPDATE polling.jobs j
  SET phase = CASE d.fate WHEN {Fate.returned} THEN {Phase.kWaiting}
      WHEN {Fate.cancelled} THEN {Phase.kCancelled} ELSE {Phase.kBuried} END,
    owner = '', ready_time = k.now,
    losses = j.losses + CASE WHEN d.fate = {Fate.past_deadline} THEN 0 ELSE 1 END,
    reason = CASE d.fate WHEN {Fate.poisoned} THEN {StaleReason.kPoison}
      WHEN {Fate.past_deadline} THEN {StaleReason.kDeadline} ELSE j.reason END
  FROM due d CROSS JOIN k WHERE j.kind = $1 AND j.id = d.id
  RETURNING j.id, j.state, j.phase, d.fate, d.why, d.old_token, d.old_owner, j.id AS place, k.now),
{log_moved}
SELECT m.id, m.state, m.fate, m.why, m.old_token, m.old_owner, m.now FROM moved m ORDER BY m.place

-- name: polling.sweep_lease
{sweep|y.phase = {Phase.kLeased} AND y.phase <= 2 AND y.ready_time <= k.now ORDER BY y.ready_time}

-- name: polling.sweep_progress
{sweep|y.phase = {Phase.kLeased} AND y.progressed <= k.kind_now - k.no_progress
  ORDER BY y.progressed}

-- name: polling.sweep_deadline
{sweep|y.phase <= 2 AND y.entered <= k.kind_now - k.deadline ORDER BY y.entered}

-- name: polling.has_kind
SELECT 1 FROM polling.kinds WHERE kind = $1
