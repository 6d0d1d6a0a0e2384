-- oldest-compatible: 0.2.0
-- Who asked for what no worker did: cancellations, operators' verbs.
ALTER TABLE polling.job_events ADD COLUMN actor text NOT NULL DEFAULT '';
