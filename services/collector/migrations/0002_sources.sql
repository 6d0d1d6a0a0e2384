-- oldest-compatible: 0.2.0
-- What is collected from where. A source has at most one run at a time: run_id.
CREATE TABLE collector.sources (
  id text COLLATE "C" PRIMARY KEY,
  namespace text COLLATE "C" NOT NULL,
  display_name text NOT NULL,
  kind smallint NOT NULL,              -- 1 Naver, 2 NewsData, 3 feed
  credential text NOT NULL,            -- a name; keys are in files
  query text NOT NULL,
  url text NOT NULL,
  country text NOT NULL,
  language text NOT NULL,
  category text NOT NULL,
  timeframe text NOT NULL,
  channel text NOT NULL,
  page_size integer NOT NULL,
  max_pages integer NOT NULL,
  by_similarity boolean NOT NULL,
  skip_images boolean NOT NULL,
  categories text[] NOT NULL,
  interval_seconds bigint NOT NULL,
  max_interval_seconds bigint NOT NULL,
  current_interval_seconds bigint NOT NULL,
  state smallint NOT NULL,             -- 1 active, 2 paused, 3 blocked
  revision bigint NOT NULL,
  failures integer NOT NULL,
  feed_etag text NOT NULL,
  feed_modified text NOT NULL,
  create_time timestamptz NOT NULL,
  update_time timestamptz NOT NULL,
  next_run_time timestamptz NOT NULL,
  success_time timestamptz,
  requested_run_id uuid,               -- a run that was asked for and has not begun
  run_id uuid,                         -- the run that goes on,
  run_holder uuid,                     -- which process has it,
  run_begin_time timestamptz           -- and since when
);
CREATE INDEX sources_due ON collector.sources (next_run_time) WHERE state = 1 AND run_id IS NULL;
CREATE INDEX sources_running ON collector.sources (run_id) WHERE run_id IS NOT NULL;

-- Runs that have ended. `position` is given afterwards, in order of commit.
CREATE TABLE collector.runs (
  id uuid PRIMARY KEY,
  source_id text COLLATE "C" NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  kind smallint NOT NULL,
  requested boolean NOT NULL,
  outcome smallint NOT NULL,
  code text NOT NULL,
  begin_time timestamptz NOT NULL,
  end_time timestamptz NOT NULL,
  calls bigint NOT NULL,
  new_items bigint NOT NULL,
  known_items bigint NOT NULL,
  refused_items bigint NOT NULL,
  fetched_pages bigint NOT NULL,
  found_images bigint NOT NULL,
  position bigint
);
CREATE INDEX runs_by_source ON collector.runs (source_id, id);
CREATE INDEX runs_by_end ON collector.runs (end_time);
CREATE INDEX runs_unnumbered ON collector.runs (id) WHERE position IS NULL;
CREATE UNIQUE INDEX runs_position ON collector.runs (position) WHERE position IS NOT NULL;

-- Heads of the commit-ordered logs: that of the runs.
CREATE TABLE collector.log_streams (
  stream text COLLATE "C" PRIMARY KEY,
  head bigint NOT NULL,
  epoch text NOT NULL,
  last_arrival timestamptz NOT NULL
);

-- The ledger of each credential's calls, by the rules of quota.h.
CREATE TABLE collector.quotas (
  credential text COLLATE "C" PRIMARY KEY,
  day_begin timestamptz NOT NULL,
  day_used bigint NOT NULL,
  recent bigint[] NOT NULL,            -- times of calls, microseconds since 1970
  blocked_until timestamptz NOT NULL,
  blocked_by smallint NOT NULL,
  key_hash bigint NOT NULL             -- of the key that was refused: another one may try
);

-- Which process runs the sources: the holder, until its lease ends.
CREATE TABLE collector.scheduler_lease (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  holder uuid NOT NULL,
  expire_time timestamptz NOT NULL
);

-- What was found on pages where a picture was looked for, so that none is fetched twice.
CREATE TABLE collector.pictures (
  page uuid PRIMARY KEY,               -- XXH3-128 of the canonical URL
  image_url text NOT NULL,             -- '' for none
  expire_time timestamptz NOT NULL
);
CREATE INDEX pictures_by_end ON collector.pictures (expire_time);
