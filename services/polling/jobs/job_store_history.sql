-- include: services/polling/jobs/job_fragments.sql

-- name: polling.read_by_position
SELECT {event_columns}, position FROM polling.job_events WHERE position > $1 AND position <= $2
ORDER BY position LIMIT $3

-- name: polling.list_views
SELECT k.kind, p.view_prefix, p.states FROM polling.kinds k
JOIN polling.policies p ON p.kind = k.kind AND p.version = k.version WHERE p.view_prefix <> ''
ORDER BY k.kind

-- name: polling.list_retired_keys
SELECT p.view_prefix || s.state FROM polling.policies p CROSS JOIN unnest(p.states) AS s(state)
WHERE p.view_prefix <> '' EXCEPT SELECT p.view_prefix || s.state FROM polling.kinds k
JOIN polling.policies p ON p.kind = k.kind AND p.version = k.version
CROSS JOIN unnest(p.states) AS s(state)

-- name: polling.count_known
SELECT count(*) FROM unnest($2::text[]) AS u(id)
CROSS JOIN LATERAL (SELECT FROM polling.jobs x WHERE x.kind = $1 AND x.id = u.id LIMIT 1) j

-- name: polling.shows_state
SELECT EXISTS (SELECT FROM polling.jobs WHERE kind = $1 AND state = $2 AND phase <= 2)

-- name: polling.read_shown
SELECT j.id, j.state, j.state_time FROM unnest($2::text[]) AS u(id)
CROSS JOIN LATERAL (SELECT x.id, x.state, x.state_time FROM polling.jobs x
  WHERE x.kind = $1 AND x.id = u.id AND x.phase <= 2 LIMIT 1) j

-- name: polling.read_shown_page
SELECT id, state, state_time FROM polling.jobs WHERE kind = $1 AND id > $2 AND phase <= 2
ORDER BY id LIMIT $3
