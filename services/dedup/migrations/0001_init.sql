-- oldest-compatible: 0.2.0
-- One commit-ordered log per namespace: where it ends (services/platform/postgres).
CREATE TABLE dedup.log_streams (
  stream text COLLATE "C" PRIMARY KEY,  -- the namespace
  head bigint NOT NULL,
  epoch text NOT NULL,
  last_arrival timestamptz NOT NULL
);

-- The log: what later documents of a namespace are compared with, in the order of decision.
CREATE TABLE dedup.entries (
  namespace text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,              -- from 1, without gaps
  document_id text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  title text NOT NULL,              -- normalised
  lead text NOT NULL,               -- normalised beginning of the text; '' for none
  canonical_url text NOT NULL,      -- '' for none
  publish_time timestamptz,
  arrival_time timestamptz NOT NULL,  -- never before that of a smaller seq
  root_seq bigint NOT NULL,         -- first of its story; seq itself when it is the first
  PRIMARY KEY (namespace, seq)
);

-- What was decided, one row a document; rows never change and outlive what they tell of.
CREATE TABLE dedup.decisions (
  namespace text COLLATE "C" NOT NULL,
  document_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  channel text COLLATE "C" NOT NULL,
  url text NOT NULL,                -- as sent; '' for none
  verdict smallint NOT NULL,        -- winnow.dedup.v1.Verdict
  original_id text COLLATE "C",     -- NULL when unique
  similarity double precision NOT NULL,
  stage smallint NOT NULL,          -- winnow.dedup.v1.Stage
  policy_version bigint NOT NULL,
  arrival_time timestamptz NOT NULL,
  decide_time timestamptz NOT NULL,
  PRIMARY KEY (namespace, document_id)
);
CREATE INDEX decisions_by_original ON dedup.decisions (namespace, original_id, seq)
  WHERE original_id IS NOT NULL;

-- The earlier documents that came into question for a decision, best first.
CREATE TABLE dedup.candidates (
  namespace text COLLATE "C" NOT NULL,
  document_id text COLLATE "C" NOT NULL,
  rank smallint NOT NULL,           -- from 0
  candidate_id text COLLATE "C" NOT NULL,
  original_id text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  jaccard double precision NOT NULL,
  cosine double precision NOT NULL,
  overlap double precision NOT NULL,
  stage smallint NOT NULL,
  guards integer NOT NULL,          -- a bit for each winnow.dedup.v1.Guard that fired
  PRIMARY KEY (namespace, document_id, rank)
);

-- The rules of each namespace; the highest version is in force.
CREATE TABLE dedup.policies (
  namespace text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  window_us bigint NOT NULL,
  token_threshold double precision NOT NULL,
  candidate_floor double precision NOT NULL,
  chain_floor double precision NOT NULL,
  same_channel boolean NOT NULL,
  create_time timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (namespace, version)
);

-- Events that were committed and not yet delivered, in order of id.
CREATE TABLE dedup.outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event text NOT NULL,       -- full message name of the payload: the routing key
  envelope bytea NOT NULL,   -- winnow.events.v1.Envelope
  create_time timestamptz NOT NULL DEFAULT now()
);

-- Which process drains the outbox: the holder, until its lease ends.
CREATE TABLE dedup.outbox_lease (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  holder uuid NOT NULL,
  renew_time timestamptz NOT NULL,
  expire_time timestamptz NOT NULL
);

-- Events that a consumer could not take, with the reason.
CREATE TABLE dedup.dead_letters (
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
