-- oldest-compatible: 0.2.0
-- Lists, statistics and watches go by the order of decision.
CREATE UNIQUE INDEX decisions_by_seq ON dedup.decisions (namespace, seq);

-- Similarity of the best candidate, whatever was decided; 0 for none.
ALTER TABLE dedup.decisions ADD COLUMN nearest double precision NOT NULL DEFAULT 0;

ALTER TABLE dedup.policies ADD COLUMN review_rate double precision NOT NULL DEFAULT 0.05;

-- What people said about decisions; all is kept, the highest revision holds.
CREATE TABLE dedup.overrides (
  namespace text COLLATE "C" NOT NULL,
  document_id text COLLATE "C" NOT NULL,
  revision bigint NOT NULL,
  verdict smallint NOT NULL,        -- winnow.dedup.v1.Verdict
  original_id text COLLATE "C",     -- NULL when unique
  reason text NOT NULL,
  created_by text NOT NULL,
  request_id text COLLATE "C",      -- NULL for none
  create_time timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (namespace, document_id, revision)
);
CREATE UNIQUE INDEX overrides_by_request ON dedup.overrides (namespace, request_id)
  WHERE request_id IS NOT NULL;

-- Near-threshold decisions that were drawn for review.
CREATE TABLE dedup.reviews (
  namespace text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  document_id text COLLATE "C" NOT NULL,
  kind smallint NOT NULL,           -- winnow.dedup.v1.ReviewKind
  PRIMARY KEY (namespace, seq)
);
