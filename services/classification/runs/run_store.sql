-- include: services/classification/runs/run_fragments.sql

-- name: classification.has_run
SELECT 1 FROM classification.runs WHERE id = $1

-- name: classification.unfinished_runs
SELECT count(*) FROM classification.runs WHERE video = $1 AND state IN (1, 2, 3)

-- name: classification.insert_run
INSERT INTO classification.runs (video, classifier, model, policy, policy_version, state,
  activate, input_high, input_count, budget_micros, create_time, end_time)
SELECT $1, $2, $3, $4, $5,
  CASE WHEN w.comment_count = 0 THEN 4 WHEN $2 = 'external' THEN 2 ELSE 1 END, $6,
  coalesce((SELECT c.number FROM classification.comments c WHERE c.video = $1 ORDER BY c.number DESC
    LIMIT 1), 0), w.comment_count, $7, $8::timestamptz,
      CASE WHEN w.comment_count = 0 THEN $8::timestamptz END FROM classification.videos w
WHERE w.number = $1 RETURNING id

-- Overrides hold in every run from its beginning.
-- name: classification.place_overrides
WITH placed AS (INSERT INTO classification.verdicts (run, comment, resolved, overridden, sort_time)
  SELECT $2, o.comment, o.status, TRUE, c.sort_time FROM classification.overrides o
  CROSS JOIN LATERAL (SELECT sort_time FROM classification.comments WHERE number = o.comment
    LIMIT 1) c WHERE o.video = $1 RETURNING resolved)
UPDATE classification.runs SET n_normal = (SELECT count(*) FROM placed
  WHERE resolved = 1), n_filtered = (SELECT count(*) FROM placed
  WHERE resolved = 2), n_suggestion = (SELECT count(*) FROM placed WHERE resolved = 3) WHERE id = $2

-- The newest ended runs stay, and those that the video points to.
-- name: classification.prune_runs
DELETE FROM classification.runs WHERE id IN (SELECT r.id FROM classification.runs r
  JOIN classification.videos w ON w.number = r.video
  WHERE r.video = $1 AND r.state IN (4,
    5) AND r.id IS DISTINCT FROM w.active_run AND r.id IS DISTINCT FROM w.previous_run
  ORDER BY r.id DESC OFFSET 10)

-- name: classification.list_runs
SELECT {run_columns} FROM classification.runs r JOIN classification.videos w ON w.number = r.video
WHERE r.video = $1 AND r.classifier <> '' AND r.id < $2 ORDER BY r.id DESC LIMIT $3

-- name: classification.set_run_budget
UPDATE classification.runs SET budget_micros = $2 WHERE id = $1

-- One round trip, and the commit in it: migrations/0005_swap.sql.
-- name: classification.swap_run
SELECT {run_columns}, s.outcome
FROM classification.swap_run($1, $2, $3, $4, $5, $6, $7::timestamptz) s
CROSS JOIN LATERAL (SELECT (s.r).*) r
CROSS JOIN LATERAL (SELECT (s.w).*) w

-- name: classification.runs_to_activate
SELECT {run_columns} FROM classification.runs r JOIN classification.videos w ON w.number = r.video
WHERE r.activate AND r.state = 4 ORDER BY r.id LIMIT 100

-- name: classification.drop_activation
UPDATE classification.runs SET activate = FALSE WHERE id = $1

-- name: classification.video_of_run
SELECT w.number, w.video_id FROM classification.runs r
JOIN classification.videos w ON w.number = r.video
WHERE r.id = $1 AND w.namespace = $2 AND r.classifier <> ''

-- name: classification.compare_runs
SELECT coalesce(b.status, 0), coalesce(a.status, 0), count(*) FROM (SELECT comment, status
  FROM classification.verdicts WHERE run = $1) a FULL JOIN (SELECT comment, status
  FROM classification.verdicts WHERE run = $2) b ON b.comment = a.comment GROUP BY 1, 2
ORDER BY 1, 2

-- name: classification.compare_changes
SELECT c.id, coalesce(b.status, 0), coalesce(a.status, 0) FROM classification.comments c
LEFT JOIN LATERAL (SELECT status FROM classification.verdicts WHERE run = $2 AND comment = c.number
  LIMIT 1) a ON TRUE
LEFT JOIN LATERAL (SELECT status FROM classification.verdicts WHERE run = $3 AND comment = c.number
  LIMIT 1) b ON TRUE
WHERE c.video = $1 AND c.id > $4 AND coalesce(a.status, 0) <> coalesce(b.status, 0) ORDER BY c.id
LIMIT $5

-- name: classification.compare_active
SELECT count(*) FILTER (WHERE a.status = b.status), count(*) FILTER (WHERE a.status <> b.status)
FROM classification.videos w JOIN classification.verdicts a ON a.run = w.active_run
JOIN classification.verdicts b ON b.run = w.previous_run AND b.comment = a.comment
WHERE w.number = (SELECT video FROM classification.runs WHERE id = $1) AND w.active_run = $1

-- name: classification.get_run
SELECT {run_columns} FROM classification.runs r JOIN classification.videos w ON w.number = r.video
WHERE r.id = $1 AND w.namespace = $2 AND r.classifier <> ''

-- name: classification.videos_of_runs
SELECT r.id, r.video FROM classification.runs r JOIN classification.videos w ON w.number = r.video
WHERE r.id IN ($1, $2) AND w.namespace = $3 AND r.classifier <> ''
