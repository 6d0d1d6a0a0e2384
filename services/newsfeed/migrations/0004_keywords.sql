-- oldest-compatible: 0.2.0
-- Keywords and tags as filters compare them (keywords.h). Beside each entry, as words of a text
-- search vector, so that any expression is one test of a row.
ALTER TABLE newsfeed.feed_entries ADD COLUMN terms tsvector NOT NULL DEFAULT '';

-- The articles of each keyword in the order of the feeds; the other way round the keywords stand in
-- the article's row. Two bits of `signature` for each keyword of the article: most articles that
-- lack another keyword are told without a look at their entries.
CREATE TABLE newsfeed.article_keywords (
  namespace text COLLATE "C" NOT NULL,
  keyword text COLLATE "C" NOT NULL,
  published_at timestamptz NOT NULL,
  id text COLLATE "C" NOT NULL,
  signature bigint NOT NULL,
  PRIMARY KEY (namespace, keyword, published_at, id) INCLUDE (signature)
);

-- What was stored before: folded by the database, close to what this service does; a signature of
-- all bits tells nothing.
INSERT INTO newsfeed.article_keywords (namespace, keyword, published_at, id, signature)
SELECT DISTINCT a.namespace, k.term, a.published_at, a.id, -1
FROM newsfeed.news_articles a
CROSS JOIN LATERAL (
  SELECT btrim(regexp_replace(lower(normalize(w.word, NFKC)), '\s+', ' ', 'g')) AS term
  FROM unnest(a.keywords || a.ai_tags) AS w (word)) k
WHERE a.is_deleted = FALSE AND k.term <> '' AND octet_length(k.term) <= 1000;

UPDATE newsfeed.feed_entries e
SET terms = array_to_tsvector(ARRAY(
  SELECT k.term FROM (
    SELECT btrim(regexp_replace(lower(normalize(w.word, NFKC)), '\s+', ' ', 'g')) AS term
    FROM unnest(a.keywords || a.ai_tags) AS w (word)) k
  WHERE k.term <> '' AND octet_length(k.term) <= 1000))
FROM newsfeed.news_articles a
WHERE a.number = e.article_number AND cardinality(a.keywords || a.ai_tags) > 0;
