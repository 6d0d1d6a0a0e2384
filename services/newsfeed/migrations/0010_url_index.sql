-- An index that begins with the namespace answers every lookup by (namespace, something): on a
-- table that was never analysed the planner took this one for lookups by id, and read the whole
-- namespace for each.
ALTER TABLE newsfeed.news_articles
  DROP CONSTRAINT uq_news_articles_url,
  ADD CONSTRAINT uq_news_articles_url UNIQUE (url_key, namespace) DEFERRABLE INITIALLY IMMEDIATE;
