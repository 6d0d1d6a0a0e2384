-- oldest-compatible: 0.2.0
-- What a vendor says of an item's outlet and subject besides.
ALTER TABLE collector.items ADD COLUMN channel_icon_url text NOT NULL DEFAULT '',
  ADD COLUMN ai_tags text[] NOT NULL DEFAULT '{}';

-- Whether the run that goes on was asked for: whoever ends it for a dead process tells it, too.
ALTER TABLE collector.sources ADD COLUMN run_requested boolean NOT NULL DEFAULT false;

-- Runs that were asked for with a request id, for who asks again; kept as long as runs are.
CREATE TABLE collector.run_requests (
  source_id text COLLATE "C" NOT NULL,
  request_id text COLLATE "C" NOT NULL,
  run_id uuid NOT NULL,
  create_time timestamptz NOT NULL,
  PRIMARY KEY (source_id, request_id)
);
CREATE INDEX run_requests_by_time ON collector.run_requests (create_time);
