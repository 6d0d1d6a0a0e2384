-- fragment: policy_columns
version, window_us, token_threshold, candidate_floor, chain_floor, same_channel,
  citation_channels, created_by, reason, create_time, review_rate, rule_mode, edit_threshold,
  semantic_threshold, lead_threshold, least_probability, newest_documents

-- name: dedup.read_policy
SELECT {policy_columns} FROM dedup.policies WHERE namespace = $1 ORDER BY version DESC LIMIT 1

-- name: dedup.read_policy_version
SELECT {policy_columns} FROM dedup.policies WHERE namespace = $1 AND version = $2

-- name: dedup.read_policy_by_request
SELECT {policy_columns} FROM dedup.policies WHERE namespace = $1 AND request_id = $2

-- name: dedup.insert_policy
INSERT INTO dedup.policies (namespace, version, window_us, token_threshold, candidate_floor,
  chain_floor, same_channel, citation_channels, created_by, reason, request_id, review_rate,
  rule_mode, edit_threshold, semantic_threshold, lead_threshold, least_probability,
  newest_documents)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
