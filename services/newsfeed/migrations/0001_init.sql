-- oldest-compatible: 0.2.0
-- Articles and the feeds that show them. Keys compare by bytes (COLLATE "C") whatever the
-- database's locale is: the order of ids within a millisecond is part of every page token.
-- Names are the published schema's where it has them.

CREATE TABLE newsfeed.log_streams (
  stream text COLLATE "C" PRIMARY KEY,
  head bigint NOT NULL,
  epoch text NOT NULL,
  last_arrival timestamptz NOT NULL
);

CREATE TABLE newsfeed.news_articles (
  namespace text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,                   -- its first position in the log: what entries refer to
  url text NOT NULL,                        -- as sent; empty for items that have none
  url_key uuid,                             -- XXH3 of the canonical URL: URLs outgrow an index
  canonical_url text NOT NULL,
  title text NOT NULL,
  snippet text NOT NULL,
  source text COLLATE "C" NOT NULL,
  source_name text NOT NULL,
  source_icon_url text NOT NULL,
  thumbnail_url text NOT NULL,
  video_url text NOT NULL,
  category text COLLATE "C" NOT NULL,       -- the first of categories, or "uncategorized"
  categories text[] NOT NULL,
  category_rules text[] NOT NULL,
  category_scores double precision[] NOT NULL,
  keywords text[] NOT NULL,
  ai_tag text,                              -- the first of ai_tags
  ai_tags text[] NOT NULL,
  language text COLLATE "C" NOT NULL,
  published_at timestamptz NOT NULL,        -- with id the sort key of every feed; never changes
  raw_published_at timestamptz NOT NULL,
  first_published_at timestamptz NOT NULL,
  published_at_clamped boolean NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  deleted_at timestamptz,
  is_deleted boolean NOT NULL DEFAULT FALSE,
  revision bigint NOT NULL,
  sent_hash uuid NOT NULL,                  -- of the content its own id sent last
  citation_count bigint NOT NULL DEFAULT 0,
  citation_channels text[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (namespace, id),
  CONSTRAINT news_articles_number UNIQUE (number),
  -- Deferrable: articles of one batch may exchange their URLs.
  CONSTRAINT uq_news_articles_url UNIQUE (namespace, url_key) DEFERRABLE INITIALLY IMMEDIATE,
  CONSTRAINT news_articles_whole_milliseconds
    CHECK (published_at = date_trunc('milliseconds', published_at)),
  CONSTRAINT news_articles_deleted CHECK (is_deleted = (deleted_at IS NOT NULL))
) WITH (fillfactor = 90);                   -- room for citations without touching the indexes

CREATE INDEX idx_news_cursor ON newsfeed.news_articles
  (category, published_at DESC, id DESC) WHERE is_deleted = FALSE;
CREATE INDEX idx_news_source ON newsfeed.news_articles (source, published_at DESC);
CREATE INDEX idx_news_recent ON newsfeed.news_articles (published_at DESC)
  WHERE is_deleted = FALSE;

-- Ids that were merged into another article by URL.
CREATE TABLE newsfeed.article_aliases (
  namespace text COLLATE "C" NOT NULL,
  alias_id text COLLATE "C" NOT NULL,
  article_id text COLLATE "C" NOT NULL,
  sent_hash uuid NOT NULL,
  PRIMARY KEY (namespace, alias_id),
  FOREIGN KEY (namespace, article_id) REFERENCES newsfeed.news_articles (namespace, id)
);

-- When an article was last sent again, apart so that a replay writes no article row. An article
-- without a row here was sent once.
CREATE TABLE newsfeed.last_seen (
  namespace text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  last_seen_at timestamptz NOT NULL,
  PRIMARY KEY (namespace, id)
) WITH (fillfactor = 80);

-- An article's place in a feed "<namespace>/<category>", and its position in the log. What filters
-- ask for is repeated here, so that they need no article rows.
CREATE TABLE newsfeed.feed_entries (
  feed text COLLATE "C" NOT NULL,
  publish_time timestamptz NOT NULL,
  id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  article_number bigint NOT NULL,
  source text COLLATE "C" NOT NULL,
  language text COLLATE "C" NOT NULL,
  has_image boolean NOT NULL,
  PRIMARY KEY (feed, publish_time, id)
);
CREATE INDEX feed_entries_seq ON newsfeed.feed_entries (feed, seq);
CREATE INDEX feed_entries_source ON newsfeed.feed_entries (feed, source, publish_time, id);
CREATE INDEX feed_entries_language ON newsfeed.feed_entries (feed, language, publish_time, id);

-- The log: one position for each change of an article, in commit order. The newest 1,000,000 stay.
CREATE TABLE newsfeed.feed_log (
  seq bigint PRIMARY KEY,
  namespace text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  change smallint NOT NULL                  -- 1 created, 2 edited, 3 deleted, 4 cited
);

-- How fresh the feeds of a namespace are.
CREATE TABLE newsfeed.feed_state (
  namespace text COLLATE "C" PRIMARY KEY,
  changed_at timestamptz NOT NULL,
  created_at timestamptz                    -- when an article was last created
) WITH (fillfactor = 50);

CREATE TABLE newsfeed.categories (
  namespace text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  display_name text NOT NULL,
  parent_id text COLLATE "C",
  path text[] COLLATE "C" NOT NULL,         -- ids from the root down to this one
  created_at timestamptz NOT NULL,
  PRIMARY KEY (namespace, id),
  CONSTRAINT categories_path UNIQUE (namespace, path),
  CONSTRAINT categories_depth CHECK (cardinality(path) BETWEEN 1 AND 8),
  CONSTRAINT categories_parent FOREIGN KEY (namespace, parent_id)
    REFERENCES newsfeed.categories (namespace, id)
);

-- That `duplicate` repeats `original`; valid before the article of `original` arrives.
CREATE TABLE newsfeed.citations (
  namespace text COLLATE "C" NOT NULL,
  original text COLLATE "C" NOT NULL,       -- an alias is replaced by its article's id
  duplicate text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  url text NOT NULL,
  arrived_at timestamptz NOT NULL,
  PRIMARY KEY (namespace, original, duplicate)
);
