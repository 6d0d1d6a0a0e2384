-- oldest-compatible: 0.2.0
-- Categories that change: which feeds show an article is read from its entries, not worked out of
-- paths that may be changing.
CREATE INDEX feed_entries_article ON newsfeed.feed_entries (article_number);

ALTER TABLE newsfeed.categories ADD COLUMN revision bigint NOT NULL DEFAULT 1;
-- Takes no articles and has no feed any more; its row goes when the last article has left it.
ALTER TABLE newsfeed.categories ADD COLUMN is_deleting boolean NOT NULL DEFAULT FALSE;

-- Articles of these categories still have to be moved, those below the key first: newest first.
CREATE TABLE newsfeed.tree_work (
  namespace text COLLATE "C" NOT NULL,
  category text COLLATE "C" NOT NULL,
  before_time timestamptz NOT NULL,
  before_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (namespace, category),
  FOREIGN KEY (namespace, category) REFERENCES newsfeed.categories (namespace, id)
    ON DELETE CASCADE
);

-- Counts moves and deletions of categories: a scroll that began before one can be told.
ALTER TABLE newsfeed.feed_state ADD COLUMN tree_revision bigint NOT NULL DEFAULT 0;
