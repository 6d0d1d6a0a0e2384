-- oldest-compatible: 0.2.0
-- Whether a run left pages unread that the next one must not miss: it does not stop at known items.
-- So is a source that has not run to its end yet, or whose settings have changed since.
ALTER TABLE collector.sources ADD COLUMN unread_pages boolean NOT NULL DEFAULT true;
