-- oldest-compatible: 0.2.0
-- The rules beyond title tokens, and what they measured of each candidate.
ALTER TABLE dedup.policies
  ADD COLUMN rule_mode smallint NOT NULL DEFAULT 1,                  -- winnow.dedup.v1.RuleMode
  ADD COLUMN edit_threshold double precision NOT NULL DEFAULT 0.85,
  ADD COLUMN semantic_threshold double precision NOT NULL DEFAULT 0.85,
  ADD COLUMN lead_threshold double precision NOT NULL DEFAULT 0.6,
  ADD COLUMN least_probability double precision NOT NULL DEFAULT 0.75,
  ADD COLUMN newest_documents integer NOT NULL DEFAULT 0;            -- 0: all of the window

ALTER TABLE dedup.candidates
  ADD COLUMN lead_jaccard double precision,                          -- NULL: not compared
  ADD COLUMN edit_similarity double precision NOT NULL DEFAULT 0,
  ADD COLUMN semantic double precision,                              -- NULL: not compared
  ADD COLUMN probability double precision NOT NULL DEFAULT 0;
