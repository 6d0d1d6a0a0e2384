-- name: newsfeed.take_projector_lease
INSERT INTO newsfeed.projector_lease AS l (holder, fence, expire_time)
VALUES ($1::uuid, 1, clock_timestamp() + $2::bigint * interval '1 millisecond')
ON CONFLICT (only_row)
DO UPDATE SET holder = excluded.holder,
  fence = CASE WHEN l.holder = excluded.holder THEN l.fence ELSE l.fence + 1 END,
  expire_time = excluded.expire_time
WHERE l.holder = excluded.holder OR l.expire_time < clock_timestamp() RETURNING fence

-- name: newsfeed.release_projector_lease
UPDATE newsfeed.projector_lease SET expire_time = '-infinity' WHERE holder = $1::uuid

-- name: newsfeed.note_projection
INSERT INTO newsfeed.projections AS p (feed, position, epoch, checksum, fence, projected_at)
VALUES ($1, $2, $3, $4::uuid, $5, clock_timestamp()) ON CONFLICT (feed)
DO UPDATE SET position = excluded.position, epoch = excluded.epoch, checksum = excluded.checksum,
  fence = excluded.fence, projected_at = excluded.projected_at WHERE p.fence <= excluded.fence
RETURNING 1

-- name: newsfeed.find_projection
SELECT position, epoch, checksum, projected_at FROM newsfeed.projections WHERE feed = $1

-- name: newsfeed.read_deletions
SELECT DISTINCT l.id FROM (SELECT l.id FROM newsfeed.feed_log l
  WHERE l.seq > $1 AND l.seq <= $2 AND l.change = 3 AND l.namespace = $3 LIMIT $4) l
CROSS JOIN LATERAL (SELECT FROM newsfeed.news_articles a
  WHERE a.namespace = $3 AND a.id = l.id AND a.is_deleted LIMIT 1) a
