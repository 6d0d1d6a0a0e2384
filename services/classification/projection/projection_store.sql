-- name: classification.unprojected_videos
SELECT namespace, video_id, number, revision, expire_time FROM classification.videos
WHERE revision <> projected ORDER BY number LIMIT $1

-- name: classification.projected_videos
SELECT namespace, video_id, number, revision, expire_time FROM classification.videos
WHERE number > $1 AND revision > 0 AND ($3 OR revision = projected) ORDER BY number LIMIT $2

-- name: classification.set_projected
UPDATE classification.videos SET projected = $2 WHERE number = $1

-- name: classification.forget_projections
UPDATE classification.videos SET projected = -1 WHERE revision > 0
