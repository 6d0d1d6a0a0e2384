-- name: classification.create_appeal
INSERT INTO classification.appeals (video, namespace, comment, status, actor, note, create_time)
VALUES ($1, $2, $3, $4, $5, $6, $7::timestamptz) RETURNING id

-- fragment: appeals
SELECT a.id, w.namespace, w.video_id, c.id, a.status, a.state, a.actor, a.note, a.create_time,
  a.resolver, a.resolve_note, a.resolve_time FROM classification.appeals a
JOIN classification.comments c ON c.number = a.comment
JOIN classification.videos w ON w.number = a.video

-- name: classification.read_appeal
{appeals} WHERE a.id = $1 AND a.namespace = $2

-- name: classification.list_appeals
{appeals} WHERE a.namespace = $1 AND a.id < $2 ORDER BY a.id DESC LIMIT $3

-- name: classification.list_appeals_in_state
{appeals} WHERE a.namespace = $1 AND a.id < $2 AND a.state = $4::smallint ORDER BY a.id DESC
LIMIT $3

-- name: classification.list_appeals_of_video
{appeals} WHERE a.video = $1 AND a.id < $2 AND ($4::smallint = 0 OR a.state = $4::smallint)
ORDER BY a.id DESC LIMIT $3

-- name: classification.close_appeal
UPDATE classification.appeals
SET state = $2::smallint, resolver = $3, resolve_note = $4, resolve_time = $5::timestamptz
WHERE id = $1 AND state = 1
