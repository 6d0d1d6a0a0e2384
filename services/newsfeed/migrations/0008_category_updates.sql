-- oldest-compatible: 0.2.0
-- When the name of a category, or what it is below, last changed. The default is for processes of
-- the version before, which do not name it.
ALTER TABLE newsfeed.categories ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now();
UPDATE newsfeed.categories SET updated_at = created_at;
