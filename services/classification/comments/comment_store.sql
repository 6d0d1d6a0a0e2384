-- A new video has a run that holds overrides until a real one is there.
-- name: classification.touch_video
INSERT INTO classification.videos AS w (namespace, video_id, create_time, expire_time)
VALUES ($1, $2, $3::timestamptz, $4::timestamptz) ON CONFLICT (namespace, video_id)
DO UPDATE SET expire_time = greatest(w.expire_time, excluded.expire_time),
  revision = w.revision + (w.revision > 0
  AND excluded.expire_time > w.expire_time + interval '1 hour')::integer
RETURNING number, active_run IS NULL

-- name: classification.first_run
WITH made AS (INSERT INTO classification.runs (video, classifier, model, policy, policy_version,
  state, input_high, input_count, create_time, end_time)
  VALUES ($1, '', '', '', 0, 4, 0, 0, $2::timestamptz, $2::timestamptz) RETURNING id)
UPDATE classification.videos SET active_run = made.id FROM made WHERE number = $1

-- name: classification.put_raw_part
INSERT INTO classification.raw_parts (video, upload_id, part, bytes)
SELECT number, $3, $4, $5::bytea FROM classification.videos WHERE namespace = $1 AND video_id = $2
ON CONFLICT DO NOTHING

-- name: classification.other_raw_part
SELECT 1 FROM classification.raw_parts p JOIN classification.videos w ON w.number = p.video
WHERE w.namespace = $1 AND w.video_id = $2 AND p.upload_id = $3 AND p.part = $4
  AND p.bytes <> $5::bytea

-- name: classification.raw_sizes
SELECT count(*), coalesce(sum(length(bytes)), 0) FROM classification.raw_parts
WHERE video = $1 AND upload_id = $2 AND part <= $3

-- name: classification.raw_part
SELECT bytes FROM classification.raw_parts WHERE video = $1 AND upload_id = $2 AND part = $3

-- name: classification.put_comments
WITH sent AS (SELECT u.id, u.alias, u.parent, u.body, u.hash, u.published, u.updated
  FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::timestamptz[],
    $8::timestamptz[]) AS u(id, alias, parent, body, hash, published, updated)),
old AS (SELECT s.id, c.content_hash FROM sent s CROSS JOIN LATERAL (SELECT content_hash
    FROM classification.comments x WHERE x.video = $1 AND x.id = s.id LIMIT 1) c),
put AS (INSERT INTO classification.comments AS c (video, id, alias, parent_id, body, content_hash,
  sort_time, update_time)
  SELECT $1, s.id, nullif(s.alias, ''), nullif(s.parent, ''), s.body, s.hash,
    coalesce(s.published, $9::timestamptz), s.updated FROM sent s LEFT JOIN old o ON o.id = s.id
  WHERE o.id IS NULL OR o.content_hash <> s.hash ON CONFLICT (video, id)
  DO UPDATE SET body = excluded.body, content_hash = excluded.content_hash,
    update_time = excluded.update_time
  WHERE c.update_time IS NULL OR excluded.update_time IS NULL OR excluded.update_time >=
    c.update_time RETURNING (xmax = 0) AS created)
SELECT count(*) FILTER (WHERE created), count(*) FILTER (WHERE NOT created) FROM put

-- name: classification.add_comment_count
UPDATE classification.videos SET comment_count = comment_count + $2 WHERE number = $1

-- name: classification.newest_comments
SELECT number, id, body, content_hash FROM classification.comments WHERE video = $1
ORDER BY sort_time DESC, number DESC LIMIT $2

-- name: classification.raise_revision
UPDATE classification.videos SET revision = revision + 1 WHERE namespace = $1 AND video_id = $2

-- name: classification.expired_videos
SELECT namespace, video_id FROM classification.videos WHERE expire_time <= $1::timestamptz
ORDER BY expire_time LIMIT $2

-- name: classification.drop_audit
DELETE FROM classification.audit_entries WHERE namespace = $1 AND video_id = $2

-- name: classification.drop_video
DELETE FROM classification.videos WHERE number = $1
