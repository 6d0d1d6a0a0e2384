-- name: classification.next_bulk
SELECT nextval('classification.bulks')

-- Each comment in each run of the video, with what it resolves to there.
-- name: classification.before_override
SELECT r.id, u.comment, coalesce(v.resolved, 0), coalesce(v.status, 0) FROM classification.runs r
CROSS JOIN unnest($2::bigint[]) AS u(comment)
LEFT JOIN LATERAL (SELECT resolved, status FROM classification.verdicts x
  WHERE x.run = r.id AND x.comment = u.comment LIMIT 1) v ON TRUE WHERE r.video = $1

-- name: classification.override
INSERT INTO classification.overrides (comment, video, status, reason, actor, bulk, create_time)
SELECT u, $1, $3, $4, $5, $6, $7::timestamptz FROM unnest($2::bigint[]) AS u ON CONFLICT (comment)
DO UPDATE SET status = excluded.status, reason = excluded.reason, actor = excluded.actor,
  bulk = excluded.bulk, create_time = excluded.create_time

-- name: classification.resolve_override
INSERT INTO classification.verdicts (run, comment, resolved, overridden, sort_time)
SELECT r.id, c.number, u.status, TRUE, c.sort_time FROM classification.runs r
CROSS JOIN unnest($2::bigint[], $3::smallint[]) AS u(comment, status)
CROSS JOIN LATERAL (SELECT number, sort_time FROM classification.comments WHERE number = u.comment
  LIMIT 1) c WHERE r.video = $1 ON CONFLICT (run, comment)
DO UPDATE SET resolved = excluded.resolved, overridden = TRUE

-- name: classification.undo_override
UPDATE classification.verdicts v SET resolved = v.status, overridden = FALSE
FROM (SELECT r.id, u.comment FROM classification.runs r
  CROSS JOIN unnest($2::bigint[]) AS u(comment) WHERE r.video = $1) k
WHERE v.run = k.id AND v.comment = k.comment

-- name: classification.drop_overrides
DELETE FROM classification.overrides WHERE video = $1 AND comment = ANY($2::bigint[])

-- A bulk stands above what was there; the newest 10 of a comment come to hold again.
-- name: classification.cover_overrides
INSERT INTO classification.covered_overrides (comment, video, status, reason, actor, bulk,
  create_time) SELECT comment, video, status, reason, actor, bulk, create_time
FROM classification.overrides WHERE comment = ANY($1::bigint[])

-- name: classification.trim_covered_overrides
DELETE FROM classification.covered_overrides WHERE place IN (SELECT place
  FROM (SELECT place, row_number() OVER (PARTITION BY comment ORDER BY place DESC) AS n
    FROM classification.covered_overrides WHERE comment = ANY($1::bigint[])) k WHERE n > 10)

-- name: classification.forget_covered_overrides
DELETE FROM classification.covered_overrides WHERE comment = ANY($1::bigint[])

-- name: classification.forget_covered_bulk
DELETE FROM classification.covered_overrides WHERE video = $1 AND bulk = $2

-- name: classification.uncover_overrides
WITH top AS (DELETE FROM classification.covered_overrides WHERE place IN (SELECT max(place)
    FROM classification.covered_overrides WHERE comment = ANY($1::bigint[]) GROUP BY comment)
  RETURNING comment, status, reason, actor, bulk, create_time)
UPDATE classification.overrides o
SET status = top.status, reason = top.reason, actor = top.actor, bulk = top.bulk,
  create_time = top.create_time FROM top WHERE o.comment = top.comment RETURNING o.comment, o.status

-- name: classification.overrides_of
SELECT o.comment, o.status, c.id FROM classification.overrides o
CROSS JOIN LATERAL (SELECT id FROM classification.comments WHERE number = o.comment LIMIT 1) c
WHERE o.video = $1 AND CASE
  WHEN $2::bigint <> 0 THEN o.comment = $2::bigint ELSE o.bulk = $3::bigint END

-- name: classification.shift_counts
UPDATE classification.runs
SET n_normal = n_normal + $2, n_filtered = n_filtered + $3, n_suggestion = n_suggestion + $4
WHERE id = $1

-- name: classification.raise_revision_of
UPDATE classification.videos SET revision = revision + 1 WHERE number = $1
