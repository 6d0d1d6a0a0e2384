-- oldest-compatible: 0.2.0
-- former-checksum: 616292106d47e48e87f1ab5c72bab818
-- The name is the channel's: a source is something else since sources run by themselves. Both
-- columns stand until 0006; this file once renamed the one, which broke processes that used it.
ALTER TABLE collector.items ADD COLUMN channel_name text NOT NULL DEFAULT '';
ALTER TABLE collector.items ALTER COLUMN source_name SET DEFAULT '';
-- Whether publish_time is the arrival time, for want of another.
ALTER TABLE collector.items ADD COLUMN publish_time_assumed boolean NOT NULL DEFAULT false;
