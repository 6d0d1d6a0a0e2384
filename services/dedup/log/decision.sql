-- The LIMIT keeps it a look-up by key for each id: a plain join of a table that was never analysed
-- is planned as a scan of the whole namespace.
-- name: dedup.read_candidates
SELECT wanted.id, candidate_id, original_id, channel, jaccard, cosine, overlap, stage, guards,
  lead_jaccard, edit_similarity, semantic, probability FROM unnest($2::text[]) AS wanted(id)
CROSS JOIN LATERAL (SELECT rank, candidate_id, original_id, channel, jaccard, cosine, overlap,
  stage, guards, lead_jaccard, edit_similarity, semantic, probability FROM dedup.candidates
  WHERE namespace = $1 AND document_id = wanted.id ORDER BY rank LIMIT 1000) AS found
ORDER BY wanted.id, rank
