-- name: classification.recall_request
SELECT content, numbers[1], numbers[2], numbers[3] FROM classification.requests
WHERE namespace = $1 AND method = $2 AND request_id = $3

-- name: classification.remember_request
INSERT INTO classification.requests (namespace, method, request_id, content, video, numbers,
  create_time) VALUES ($1, $2, $3, $4, nullif($5::bigint, 0), $6::bigint[], $7::timestamptz)
ON CONFLICT DO NOTHING

-- name: classification.sweep_requests
DELETE FROM classification.requests
WHERE (namespace, method, request_id) IN (SELECT namespace, method, request_id
  FROM classification.requests WHERE create_time < $1::timestamptz ORDER BY create_time LIMIT $2)
