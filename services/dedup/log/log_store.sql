-- include: services/dedup/log/decision_fragments.sql

-- name: dedup.read_entries
SELECT e.seq, e.document_id, e.channel, e.title, e.lead, e.canonical_url, e.publish_time,
  e.arrival_time, e.root_seq, r.channel, r.title, r.lead,
  CASE WHEN e.vector_model = $4 THEN e.vector END, CASE WHEN r.vector_model = $4 THEN r.vector END
FROM dedup.entries e
LEFT JOIN dedup.entries r ON r.namespace = e.namespace AND r.seq = e.root_seq
  AND e.root_seq <> e.seq WHERE e.namespace = $1 AND e.seq > $2 ORDER BY e.seq LIMIT $3

-- Without the join above: most originals are in the window already. What is not kept of a lead does
-- not travel. The LIMIT keeps the plan a walk along the key, also where nothing was analysed yet.
-- name: dedup.read_window_page
SELECT seq, root_seq, arrival_time, channel, title, canonical_url,
  CASE WHEN $5::boolean OR char_length(replace(title, ' ', '')) < $6::integer THEN left(lead,
  $7::integer) ELSE '' END, CASE WHEN vector_model = $8 THEN vector END FROM dedup.entries
WHERE namespace = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4

-- name: dedup.read_originals
SELECT wanted.seq, found.channel, found.title, found.lead,
  CASE WHEN found.vector_model = $3 THEN found.vector END FROM unnest($2::bigint[]) AS wanted(seq)
CROSS JOIN LATERAL (SELECT channel, title, lead, vector_model, vector FROM dedup.entries
  WHERE namespace = $1 AND seq = wanted.seq LIMIT 1) AS found

-- name: dedup.entry_from
SELECT seq, arrival_time FROM dedup.entries WHERE namespace = $1 AND seq >= $2 ORDER BY seq LIMIT 1

-- name: dedup.last_arrival
SELECT arrival_time FROM dedup.entries WHERE namespace = $1 ORDER BY seq DESC LIMIT 1

-- A LIMIT in each look-up keeps it one by key: a plain join, or = ANY, of a table that was never
-- analysed is planned as a scan of the whole namespace.
-- name: dedup.read_decisions
SELECT {decision_columns} FROM unnest($2::text[]) AS wanted(id)
CROSS JOIN LATERAL (SELECT {decision_columns} FROM dedup.decisions
  WHERE namespace = $1 AND document_id = wanted.id LIMIT 1) AS found

-- name: dedup.read_names
SELECT wanted.seq, found.document_id, found.channel FROM unnest($2::bigint[]) AS wanted(seq)
CROSS JOIN LATERAL (SELECT document_id, channel FROM dedup.entries
  WHERE namespace = $1 AND seq = wanted.seq LIMIT 1) AS found

-- name: dedup.has_entry
SELECT 1 FROM dedup.entries WHERE namespace = $1 AND seq = $2 AND document_id = $3

-- Some stories are repeated without end: what their first thousand say is enough.
-- name: dedup.citing_channels
SELECT wanted.id, found.channel FROM unnest($2::text[]) AS wanted(id)
CROSS JOIN LATERAL (SELECT DISTINCT channel FROM (SELECT channel FROM dedup.decisions
    WHERE namespace = $1 AND original_id = wanted.id ORDER BY seq LIMIT 1000) AS first) AS found

-- name: dedup.read_namespaces
SELECT stream FROM dedup.log_streams ORDER BY last_arrival DESC, stream LIMIT $1
