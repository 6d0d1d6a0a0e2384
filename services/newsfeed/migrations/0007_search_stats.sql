-- oldest-compatible: 0.2.0
-- What searches look through: hashes of the words and character pairs of title and snippet, salted
-- with the namespace (search_terms.h). pg_trgm needs three characters; Korean words have two.
CREATE TABLE newsfeed.article_search (
  namespace text COLLATE "C" NOT NULL,
  published_at timestamptz NOT NULL,
  id text COLLATE "C" NOT NULL,
  article_number bigint NOT NULL,
  grams int[] NOT NULL,
  PRIMARY KEY (namespace, published_at, id)
);
CREATE INDEX article_search_grams ON newsfeed.article_search USING gin (grams)
  WITH (gin_pending_list_limit = 1024);     -- kB: what a search reads through besides

-- Articles by their category and source, citations by their channel; by the UTC day of arrival.
CREATE TABLE newsfeed.feed_counters (
  namespace text COLLATE "C" NOT NULL,
  day date NOT NULL,
  kind smallint NOT NULL,                   -- 1 category, 2 source, 3 channel
  key text COLLATE "C" NOT NULL,
  articles bigint NOT NULL,
  citations bigint NOT NULL,
  PRIMARY KEY (namespace, day, kind, key)
);
-- By which all counters of a day go at once.
CREATE INDEX feed_counters_day ON newsfeed.feed_counters (day);
