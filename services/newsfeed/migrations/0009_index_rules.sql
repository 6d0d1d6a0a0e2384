-- oldest-compatible: 0.2.0
-- By which rules the words of an article, its keywords and the terms beside its entries were made
-- (index_rules.h). Processes of the version before write rows of rules 1.
ALTER TABLE newsfeed.article_search ADD COLUMN rules smallint NOT NULL DEFAULT 1;

-- How far all articles have been looked through, by number, for those that lack such a row or have
-- one of other rules.
CREATE TABLE newsfeed.index_progress (
  only_row boolean PRIMARY KEY DEFAULT TRUE CHECK (only_row),
  rules smallint NOT NULL,
  done_number bigint NOT NULL,
  is_complete boolean NOT NULL              -- the end was reached once
);
