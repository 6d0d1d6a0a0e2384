-- fragment: video
SELECT number, coalesce(active_run, 0), coalesce(previous_run, 0), comment_count
FROM classification.videos WHERE namespace = $1 AND video_id = $2

-- name: classification.find_video
{video}

-- name: classification.share_video
{video} FOR SHARE

-- name: classification.lock_video
{video} FOR NO KEY UPDATE

-- name: classification.find_comments
SELECT u.place, c.number, c.content_hash FROM unnest($1::text[]) WITH ORDINALITY AS u(id, place)
CROSS JOIN LATERAL (SELECT number, content_hash FROM classification.comments
  WHERE video = $2 AND id = u.id LIMIT 1) c

-- name: classification.find_comments_by_alias
SELECT u.place, a.number, a.content_hash, a.id, a.n > 1
FROM unnest($1::text[]) WITH ORDINALITY AS u(id, place)
CROSS JOIN LATERAL (SELECT min(x.number) AS number, min(x.content_hash) AS content_hash,
  min(x.id) AS id, count(*) AS n FROM (SELECT number, id, content_hash FROM classification.comments
    WHERE video = $2 AND alias = u.id LIMIT 2) x) a WHERE a.n > 0
