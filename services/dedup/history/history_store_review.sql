-- Drawn, and not reviewed yet.
-- name: dedup.review_queue
SELECT r.kind, r.seq, r.document_id FROM dedup.reviews r
LEFT JOIN LATERAL (SELECT true AS known FROM dedup.overrides
  WHERE namespace = $1 AND document_id = r.document_id LIMIT 1) AS said ON true
WHERE r.namespace = $1 AND r.seq < $2 AND ($3 = 0 OR r.kind = $3) AND said.known IS NULL
ORDER BY r.seq DESC LIMIT $4

-- name: dedup.read_titles
SELECT wanted.id, e.title FROM unnest($2::text[]) AS wanted(id)
CROSS JOIN LATERAL (SELECT seq FROM dedup.decisions WHERE namespace = $1 AND document_id = wanted.id
  LIMIT 1) AS d
CROSS JOIN LATERAL (SELECT title FROM dedup.entries WHERE namespace = $1 AND seq = d.seq
  LIMIT 1) AS e

-- Overrides of one decision are made one after the other.
-- name: dedup.lock_decision
SELECT 1 FROM dedup.decisions WHERE namespace = $1 AND document_id = $2 FOR UPDATE

-- name: dedup.read_original
SELECT original_id FROM dedup.decisions WHERE namespace = $1 AND document_id = $2

-- name: dedup.read_override_request
SELECT document_id, verdict, original_id, reason, created_by FROM dedup.overrides
WHERE namespace = $1 AND request_id = $2

-- name: dedup.insert_override
INSERT INTO dedup.overrides (namespace, document_id, revision, verdict, original_id, reason,
  created_by, request_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
