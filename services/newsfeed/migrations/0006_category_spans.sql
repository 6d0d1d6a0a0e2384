-- oldest-compatible: 0.2.0
-- Where in an article each of its categories was found: "title 3 6", in characters; empty for those
-- that were found nowhere in it.
ALTER TABLE newsfeed.news_articles ADD COLUMN category_spans text[] NOT NULL DEFAULT '{}';
