-- oldest-compatible: 0.2.0
-- contract: runs.request_id; appeals.request_id, resolved, granted: never in a release
-- Calls that came with a request_id, and what they did: made again they answer the same.
CREATE TABLE classification.requests (
  namespace    text COLLATE "C" NOT NULL,
  method       text COLLATE "C" NOT NULL,
  request_id   text COLLATE "C" NOT NULL,
  content      bigint NOT NULL,  -- hash of the call
  video        bigint REFERENCES classification.videos ON DELETE CASCADE,
  numbers      bigint[] NOT NULL,  -- of what it did
  create_time  timestamptz NOT NULL,
  PRIMARY KEY (namespace, method, request_id)
);
CREATE INDEX requests_by_age ON classification.requests (create_time);
CREATE INDEX requests_by_video ON classification.requests (video);

DROP INDEX classification.runs_by_request;
ALTER TABLE classification.runs DROP COLUMN request_id;

-- Overrides that a bulk stands above: they hold again when the bulk is taken back.
CREATE TABLE classification.covered_overrides (
  place        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  comment      bigint NOT NULL REFERENCES classification.comments ON DELETE CASCADE,
  video        bigint NOT NULL REFERENCES classification.videos ON DELETE CASCADE,
  status       smallint NOT NULL,
  reason       text NOT NULL,
  actor        text NOT NULL,
  bulk         bigint NOT NULL,
  create_time  timestamptz NOT NULL
);
CREATE INDEX covered_overrides_by_comment ON classification.covered_overrides (comment, place);
CREATE INDEX covered_overrides_by_video ON classification.covered_overrides (video, bulk);

ALTER TABLE classification.appeals
  ADD COLUMN namespace text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN state smallint NOT NULL DEFAULT 1,
  ADD COLUMN resolver text NOT NULL DEFAULT '',
  ADD COLUMN resolve_note text NOT NULL DEFAULT '',
  ADD COLUMN resolve_time timestamptz;
UPDATE classification.appeals a SET namespace = w.namespace,
  state = CASE WHEN a.granted THEN 2 WHEN a.resolved THEN 3 ELSE 1 END
  FROM classification.videos w WHERE w.number = a.video;
ALTER TABLE classification.appeals
  DROP COLUMN request_id, DROP COLUMN resolved, DROP COLUMN granted;
CREATE INDEX appeals_by_namespace ON classification.appeals (namespace, id);
CREATE INDEX appeals_by_state ON classification.appeals (namespace, state, id);
CREATE INDEX appeals_by_video ON classification.appeals (video, id);

ALTER TABLE classification.audit_entries ADD COLUMN appeal bigint NOT NULL DEFAULT 0;

-- A score of -1 is none.
ALTER TABLE classification.verdicts
  ALTER COLUMN score SET DEFAULT -1,
  ADD COLUMN decide_time timestamptz;
CREATE INDEX comments_newest ON classification.comments (video, sort_time DESC, number DESC);
