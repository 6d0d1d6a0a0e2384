-- oldest-compatible: 0.2.0
-- Cost that calls of a model may cause, from before a call until what it cost is known. Who dies in
-- between leaves a row, which is paid for by whoever takes the run over.
CREATE TABLE classification.reservations (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run     bigint NOT NULL REFERENCES classification.runs ON DELETE CASCADE,
  micros  bigint NOT NULL
);
CREATE INDEX reservations_by_run ON classification.reservations (run);

-- Verdicts by the SHA-256 of what they depend on: model, prompt, policy and text. No text is kept.
CREATE TABLE classification.verdict_cache (
  key          bytea PRIMARY KEY,
  status       smallint NOT NULL,
  source       smallint NOT NULL,
  score        real NOT NULL,
  reason       text NOT NULL,
  create_time  timestamptz NOT NULL
);
CREATE INDEX verdict_cache_by_age ON classification.verdict_cache (create_time);
