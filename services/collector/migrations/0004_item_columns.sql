-- The name is the channel's: a source is something else since sources run by themselves.
ALTER TABLE collector.items RENAME COLUMN source_name TO channel_name;
-- Whether publish_time is the arrival time, for want of another.
ALTER TABLE collector.items ADD COLUMN publish_time_assumed boolean NOT NULL DEFAULT false;
