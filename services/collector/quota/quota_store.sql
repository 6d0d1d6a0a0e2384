-- name: collector.make_quota
INSERT INTO collector.quotas (credential, day_begin, day_used, recent, blocked_until, blocked_by,
  key_hash) VALUES ($1, 'epoch', 0, '{}', 'epoch', 0, $2::bigint)
ON CONFLICT (credential) DO NOTHING

-- fragment: quota
SELECT day_begin, day_used, recent::text[], blocked_until, blocked_by, key_hash
FROM collector.quotas WHERE credential = $1

-- name: collector.read_quota
{quota}

-- name: collector.lock_quota
{quota} FOR UPDATE

-- name: collector.write_quota
UPDATE collector.quotas
SET day_begin = $2::timestamptz, day_used = $3::bigint, recent = $4::bigint[],
  blocked_until = $5::timestamptz, blocked_by = $6::smallint, key_hash = $7::bigint
WHERE credential = $1

-- name: collector.find_pictures
SELECT wanted.n, p.image_url FROM unnest($1::uuid[]) WITH ORDINALITY AS wanted(page, n)
CROSS JOIN LATERAL (SELECT image_url FROM collector.pictures
  WHERE page = wanted.page AND expire_time > now() LIMIT 1) AS p

-- name: collector.save_pictures
INSERT INTO collector.pictures (page, image_url, expire_time)
SELECT DISTINCT ON (page) page, image_url, now() + keep * interval '1 second'
FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS f(page, image_url, keep) ORDER BY page
ON CONFLICT (page) DO UPDATE SET image_url = excluded.image_url, expire_time = excluded.expire_time

-- name: collector.delete_old_pictures
DELETE FROM collector.pictures WHERE page IN (SELECT page FROM collector.pictures
  WHERE expire_time < now() ORDER BY expire_time LIMIT 1000)
