-- oldest-compatible: 0.2.0
-- transaction: none
-- former-checksum: f29319560fd8dbfd65d4eae44f258c01
-- An index that begins with the namespace answers every lookup by (namespace, something): on a
-- table that was never analysed the planner took this one for lookups by id, and read the whole
-- namespace for each. Until the constraint has it the new index is not deferrable: a batch whose
-- articles exchange their URLs may be refused once, and comes again.
CREATE UNIQUE INDEX CONCURRENTLY uq_news_articles_url_new
  ON newsfeed.news_articles (url_key, namespace);
ALTER TABLE newsfeed.news_articles
  DROP CONSTRAINT uq_news_articles_url,
  ADD CONSTRAINT uq_news_articles_url UNIQUE USING INDEX uq_news_articles_url_new
    DEFERRABLE INITIALLY IMMEDIATE;
