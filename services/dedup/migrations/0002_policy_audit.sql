-- oldest-compatible: 0.2.0
-- Who changed the rules and why, and how many channels make a story widely reported.
ALTER TABLE dedup.policies
  ADD COLUMN citation_channels integer NOT NULL DEFAULT 3,
  ADD COLUMN created_by text NOT NULL DEFAULT '',      -- '' for the configuration's
  ADD COLUMN reason text NOT NULL DEFAULT '',
  ADD COLUMN request_id text COLLATE "C";              -- NULL for the configuration's
CREATE UNIQUE INDEX policies_by_request ON dedup.policies (namespace, request_id)
  WHERE request_id IS NOT NULL;
