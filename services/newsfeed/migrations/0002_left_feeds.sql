-- oldest-compatible: 0.2.0
-- The feeds that an article left by a change: watchers are told of its going without a look back.
ALTER TABLE newsfeed.feed_log ADD COLUMN left_feeds text[] NOT NULL DEFAULT '{}';
