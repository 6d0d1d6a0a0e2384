-- oldest-compatible: 0.2.0
-- What collectors brought in, one row an item; rows never change.
CREATE TABLE collector.items (
  id uuid PRIMARY KEY,                 -- version 7: in order of creation
  -- XXH3-128 of (namespace, channel, external_id or else canonical_url): two reports of one item
  -- meet here, and texts of this length do not fit an index.
  identity uuid NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  external_id text NOT NULL,           -- '' for none, as everywhere below
  url text NOT NULL,
  canonical_url text NOT NULL,
  title text NOT NULL,
  snippet text NOT NULL,
  language text NOT NULL,
  source_name text NOT NULL,
  image_url text NOT NULL,
  video_url text NOT NULL,
  source_categories text[] NOT NULL,
  keywords text[] NOT NULL,
  publish_time timestamptz NOT NULL,
  arrival_time timestamptz NOT NULL,
  create_time timestamptz NOT NULL,
  -- The transaction that stored it: tells what a running listing may show (docs/adr/0004).
  writer xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE UNIQUE INDEX items_identity ON collector.items (identity);
CREATE INDEX items_by_arrival ON collector.items (namespace, arrival_time, id);
CREATE INDEX items_by_channel ON collector.items (namespace, channel, arrival_time, id);

-- The database cluster in which `writer` counts. In another one, as after a dump is restored, items
-- up to settled_id are taken as committed long ago.
CREATE TABLE collector.origin (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  cluster bigint NOT NULL,
  settled_id uuid NOT NULL
);
INSERT INTO collector.origin (cluster, settled_id)
SELECT system_identifier, '00000000-0000-0000-0000-000000000000' FROM pg_control_system();

-- Events that were committed and not yet delivered, in order of id.
CREATE TABLE collector.outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event text NOT NULL,       -- full message name of the payload: the routing key
  envelope bytea NOT NULL,   -- winnow.events.v1.Envelope
  create_time timestamptz NOT NULL DEFAULT now()
);

-- Which process drains the outbox: the holder, until its lease ends.
CREATE TABLE collector.outbox_lease (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  holder uuid NOT NULL,
  renew_time timestamptz NOT NULL,
  expire_time timestamptz NOT NULL
);

-- Events that a consumer could not take, with the reason.
CREATE TABLE collector.dead_letters (
  outbox_id bigint NOT NULL,
  consumer text NOT NULL,    -- service that could not take it; '' when no reader knows the payload
  event text NOT NULL,
  envelope bytea NOT NULL,
  reason text NOT NULL,
  deliveries integer NOT NULL,
  create_time timestamptz NOT NULL,
  dead_time timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (outbox_id, consumer)
);
