-- name: classification.lease_run
UPDATE classification.runs
SET state = 2, lease_owner = $1, lease_epoch = lease_epoch + 1,
  lease_until = clock_timestamp() + interval '30 seconds' WHERE id = (SELECT id
  FROM classification.runs
  WHERE state IN (1, 2) AND classifier = ANY($2::text[])
    AND (lease_until IS NULL OR lease_until < clock_timestamp()) ORDER BY id
  LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id

-- name: classification.extend_lease
UPDATE classification.runs SET lease_until = clock_timestamp() + interval '30 seconds' WHERE id = $1

-- name: classification.extend_lease_only
UPDATE classification.runs SET lease_until = clock_timestamp() + interval '30 seconds'
WHERE id = $1 AND lease_epoch = $2 AND state = 2

-- name: classification.release_lease
UPDATE classification.runs SET lease_until = NULL WHERE id = $1 AND lease_epoch = $2

-- name: classification.residue
SELECT c.number, c.id, c.body, c.content_hash FROM classification.comments c
LEFT JOIN LATERAL (SELECT status, failure FROM classification.verdicts
  WHERE run = $2 AND comment = c.number LIMIT 1) v ON TRUE
WHERE c.video = $1 AND c.number > $3 AND c.number <= $4 AND v.status IS NULL
  AND coalesce(v.failure, 0) = 0 ORDER BY c.number LIMIT $5

-- In a statement of its own: the sum below must see what others reserved before.
-- name: classification.lock_leased_run
SELECT id FROM classification.runs
WHERE id = $1 AND lease_epoch = $2 AND state = 2 FOR NO KEY UPDATE

-- name: classification.reserve_cost
INSERT INTO classification.reservations (run, micros) SELECT r.id, $2::bigint
FROM classification.runs r
WHERE r.id = $1 AND (r.budget_micros = 0 OR r.cost_micros + $2::bigint + coalesce((SELECT
  sum(x.micros) FROM classification.reservations x WHERE x.run = $1), 0) <= r.budget_micros)
RETURNING id

-- name: classification.sweep_cache
DELETE FROM classification.verdict_cache WHERE key IN (SELECT key FROM classification.verdict_cache
  WHERE create_time < $1::timestamptz ORDER BY create_time LIMIT $2)
