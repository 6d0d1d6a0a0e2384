-- Enumerations travel as bigint and are cast by the insert.
-- name: dedup.insert_entries
INSERT INTO dedup.entries (namespace, seq, document_id, channel, title, lead, canonical_url,
  publish_time, arrival_time, root_seq, vector, vector_model)
SELECT $11, e.*, CASE WHEN e.vector IS NOT NULL THEN $12::text END
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
  $7::timestamptz[], $8::timestamptz[], $9::bigint[], $10::bytea[]) AS e(seq, id, channel, title,
  lead, url, published, arrived, root, vector)

-- name: dedup.insert_decisions
INSERT INTO dedup.decisions (namespace, document_id, seq, channel, url, verdict, original_id,
  similarity, stage, policy_version, arrival_time, decide_time, nearest, degradations) SELECT $14, *
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[],
  $7::float8[], $8::bigint[], $9::bigint[], $10::timestamptz[], $11::timestamptz[], $12::float8[],
  $13::bigint[])

-- name: dedup.insert_candidates
INSERT INTO dedup.candidates (namespace, document_id, rank, candidate_id, original_id, channel,
  jaccard, cosine, overlap, stage, guards, lead_jaccard, edit_similarity, semantic, probability)
SELECT $15, *
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::float8[],
  $7::float8[], $8::float8[], $9::bigint[], $10::bigint[], $11::float8[], $12::float8[],
  $13::float8[], $14::float8[])

-- name: dedup.insert_reviews
INSERT INTO dedup.reviews (namespace, seq, document_id, kind) SELECT $1, *
FROM unnest($2::bigint[], $3::text[], $4::smallint[])
