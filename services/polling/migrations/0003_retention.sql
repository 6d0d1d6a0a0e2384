-- oldest-compatible: 0.2.0
-- How long ended jobs stay; rules that say nothing of it keep them for 30 days.
ALTER TABLE polling.policies ADD COLUMN retention_us bigint NOT NULL DEFAULT 2592000000000;
-- Buried jobs stay, and are not read again by every look for what may go.
CREATE INDEX jobs_expiring ON polling.jobs (kind, ready_time, id) WHERE phase > 3;

-- What a kick or purge did, for who sends it again: how many jobs, and the first of their ids.
ALTER TABLE polling.audit_entries ADD COLUMN request_id text COLLATE "C",
  ADD COLUMN job_count bigint, ADD COLUMN job_ids text[];
CREATE UNIQUE INDEX audit_entries_by_request ON polling.audit_entries (kind, action, request_id)
  WHERE request_id IS NOT NULL;
