-- Of v (verdict or null), c (comment), r (run), o (override or null).
-- fragment: resolved
c.id, coalesce(v.resolved, 0), coalesce(v.status, 0),
  CASE WHEN v.overridden THEN coalesce(o.reason, '') ELSE coalesce(v.reason, '') END,
  coalesce(v.score, -1), CASE WHEN v.overridden THEN 5 ELSE coalesce(v.source, 0) END,
  coalesce(v.failure, 0), CASE WHEN r.classifier = '' THEN 0 ELSE r.id END, r.model, r.policy,
  r.policy_version, coalesce(v.status IS NOT NULL AND v.content_hash <> c.content_hash, FALSE),
  coalesce(v.overridden, FALSE), c.sort_time, c.number, v.decide_time, coalesce(o.actor, ''),
  o.create_time

-- fragment: verdict_columns
x.comment, x.status, x.resolved, x.failure, x.source, x.overridden, x.score, x.content_hash,
  x.sort_time, x.reason, x.decide_time

-- fragment: comment_columns
y.number, y.id, y.content_hash, y.sort_time

-- fragment: override
LEFT JOIN LATERAL (SELECT reason, actor, create_time FROM classification.overrides x
  WHERE x.comment = c.number AND v.overridden LIMIT 1) o ON TRUE

-- fragment: verdict
LEFT JOIN LATERAL (SELECT {verdict_columns} FROM classification.verdicts x
  WHERE x.run = r.id AND x.comment = c.number LIMIT 1) v ON TRUE

-- fragment: run(run)
(SELECT number, active_run FROM classification.videos WHERE namespace = $1 AND video_id = $2) w
CROSS JOIN LATERAL (SELECT x.id, x.classifier, x.model, x.policy, x.policy_version
  FROM classification.runs x WHERE x.id = {run} AND x.video = w.number LIMIT 1) r

-- name: classification.get_classifications
SELECT u.place, coalesce(a.n, 0), {resolved} FROM {run|w.active_run}
CROSS JOIN unnest($3::text[]) WITH ORDINALITY AS u(id, place)
LEFT JOIN LATERAL (SELECT number FROM classification.comments WHERE video = w.number AND id = u.id
  LIMIT 1) i ON TRUE
LEFT JOIN LATERAL (SELECT min(x.number) AS number, count(*) AS n FROM (SELECT number
    FROM classification.comments WHERE video = w.number AND alias = u.id
    LIMIT 2) x) a ON i.number IS NULL
CROSS JOIN LATERAL (SELECT {comment_columns} FROM classification.comments y
  WHERE y.number = coalesce(i.number, a.number) LIMIT 1) c {verdict} {override}

-- fragment: list(key, order)
SELECT r.id, v.comment, {resolved}
FROM {run|CASE WHEN $3::bigint = 0 THEN w.active_run ELSE $3::bigint END}
LEFT JOIN LATERAL (SELECT {verdict_columns} FROM classification.verdicts x
  WHERE x.run = r.id AND x.resolved = $4::smallint AND {key} < ($5, $6::bigint) ORDER BY {order}
  LIMIT $7) v ON TRUE
LEFT JOIN LATERAL (SELECT {comment_columns} FROM classification.comments y
  WHERE y.number = v.comment LIMIT 1) c ON TRUE {override}

-- name: classification.list_newest
{list|(x.sort_time, x.comment)|x.sort_time DESC, x.comment DESC}
ORDER BY v.sort_time DESC, v.comment DESC

-- name: classification.list_highest
{list|(x.score, x.comment)|x.score DESC, x.comment DESC} ORDER BY v.score DESC, v.comment DESC

-- Comments from newest to oldest, 10,000 at most: those without a resolved status come out, and the
-- last one that was looked at.
-- fragment: scanned
FROM (SELECT number, active_run, comment_count FROM classification.videos
  WHERE namespace = $1 AND video_id = $2) w
CROSS JOIN LATERAL (SELECT x.id, x.classifier, x.model, x.policy, x.policy_version
  FROM classification.runs x
  WHERE x.video = w.number AND x.id = CASE WHEN $3::bigint = 0 THEN w.active_run ELSE $3::bigint END
  LIMIT 1) r
CROSS JOIN LATERAL (SELECT {comment_columns}, row_number() OVER (ORDER BY y.sort_time DESC,
  y.number DESC) AS place FROM classification.comments y
  WHERE y.video = w.number AND (y.sort_time, y.number) < ($4, $5::bigint)
  ORDER BY y.sort_time DESC, y.number DESC LIMIT 10000) c

-- name: classification.list_unclassified
SELECT c.place = 10000, v.resolved IS NULL, {resolved} {scanned} {verdict} {override}
WHERE v.resolved IS NULL OR c.place = 10000 ORDER BY c.sort_time DESC, c.number DESC LIMIT $6

-- name: classification.run_coverage
SELECT r.id, w.comment_count - r.n_normal - r.n_filtered - r.n_suggestion
FROM classification.videos w
JOIN classification.runs r ON r.video = w.number
  AND r.id = CASE WHEN $3::bigint = 0 THEN w.active_run ELSE $3::bigint END
WHERE w.namespace = $1 AND w.video_id = $2

-- name: classification.count
SELECT CASE WHEN r.classifier = '' THEN 0 ELSE r.id END,
  w.comment_count - r.n_normal - r.n_filtered - r.n_suggestion, r.n_normal, r.n_filtered,
  r.n_suggestion FROM classification.videos w JOIN classification.runs r ON r.id = w.active_run
WHERE w.namespace = $1 AND w.video_id = $2

-- name: classification.export
SELECT r.id, c.number, {resolved}
FROM {run|CASE WHEN $3::bigint = 0 THEN w.active_run ELSE $3::bigint END}
LEFT JOIN LATERAL (SELECT {comment_columns} FROM classification.comments y
  WHERE y.video = w.number AND y.id > $4 ORDER BY y.id LIMIT $5) c ON TRUE {verdict} {override}
ORDER BY c.id

-- name: classification.conflicts
SELECT r.id, c.number, {resolved} FROM {run|w.active_run}
JOIN classification.overrides k ON k.video = w.number
CROSS JOIN LATERAL (SELECT {comment_columns} FROM classification.comments y
  WHERE y.number = k.comment AND y.id > $3 LIMIT 1) c {verdict} {override}
WHERE v.status IS NOT NULL AND v.status <> v.resolved ORDER BY c.id LIMIT $4
