-- oldest-compatible: 0.2.0
-- What a model makes of the normalised title, one byte a dimension; compared with those of the same
-- model only. Both NULL where no model was asked, or it was away.
ALTER TABLE dedup.entries
  ADD COLUMN vector bytea,
  ADD COLUMN vector_model text COLLATE "C";
-- Incompressible: trying to compress it would cost each insert.
ALTER TABLE dedup.entries ALTER COLUMN vector SET STORAGE EXTERNAL;

-- What was missing when it was decided: a bit for each winnow.dedup.v1.Degradation.
ALTER TABLE dedup.decisions ADD COLUMN degradations integer NOT NULL DEFAULT 0;
