-- name: classification.get_policy
SELECT version, body, create_time FROM classification.policies
WHERE namespace = $1 AND name = $2 AND ($3::bigint = 0 OR version = $3::bigint)
ORDER BY version DESC LIMIT 1

-- name: classification.put_policy
INSERT INTO classification.policies (namespace, name, version, body, create_time)
SELECT $1, $2, $3::bigint, $5::bytea, $6::timestamptz WHERE coalesce((SELECT max(version)
    FROM classification.policies WHERE namespace = $1 AND name = $2), $4::bigint) = $3::bigint - 1
ON CONFLICT DO NOTHING
