-- oldest-compatible: 0.2.0
-- Jobs that are in flight, and what became of them. Time is this function's, never a client's;
-- tests replace it.
CREATE FUNCTION polling.now() RETURNS timestamptz LANGUAGE sql VOLATILE
  AS 'SELECT clock_timestamp()';

-- Fencing tokens: of all jobs, so that an id that was purged and registered anew goes on growing.
CREATE SEQUENCE polling.tokens;

-- Every version of every kind's rules; the newest holds.
CREATE TABLE polling.policies (
  kind               text COLLATE "C" NOT NULL,
  version            bigint NOT NULL,
  states             text[] NOT NULL,
  transitions_from   text[] NOT NULL,
  transitions_to     text[] NOT NULL,
  lease_us           bigint NOT NULL,
  no_progress_us     bigint NOT NULL,
  deadline_us        bigint NOT NULL,
  sweep_interval_us  bigint NOT NULL,
  poll_interval_us   bigint NOT NULL,
  backoff_base_us    bigint NOT NULL,
  backoff_max_us     bigint NOT NULL,
  max_attempts       integer NOT NULL,
  max_losses         integer NOT NULL,
  view_prefix        text NOT NULL,
  created_by         text NOT NULL,
  reason             text NOT NULL,
  request_id         text COLLATE "C",
  create_time        timestamptz NOT NULL DEFAULT polling.now(),
  PRIMARY KEY (kind, version)
);
CREATE UNIQUE INDEX policies_by_request ON polling.policies (kind, request_id)
  WHERE request_id IS NOT NULL;

-- The clock of a kind stands still while it is paused.
CREATE TABLE polling.kinds (
  kind             text COLLATE "C" PRIMARY KEY,
  version          bigint NOT NULL,        -- of the policy that holds
  pause_time       timestamptz,
  paused_us        bigint NOT NULL DEFAULT 0,
  next_sweep_time  timestamptz NOT NULL DEFAULT '-infinity'
);

-- The published kind with the published rules.
INSERT INTO polling.policies (kind, version, states, transitions_from, transitions_to, lease_us,
  no_progress_us, deadline_us, sweep_interval_us, poll_interval_us, backoff_base_us,
  backoff_max_us, max_attempts, max_losses, view_prefix, created_by, reason)
VALUES ('stt', 1, '{processing,summarizing}', '{processing}', '{summarizing}', 30000000,
  600000000, 3600000000, 600000000, 5000000, 5000000, 300000000, 20, 3, 'stt:polling:', 'winnow',
  'the published rules');
INSERT INTO polling.kinds (kind, version) VALUES ('stt', 1);

-- Phases: 1 waiting, 2 leased, 3 buried, 4 completed, 5 failed, 6 cancelled. Updates stay within a
-- page where they can.
CREATE TABLE polling.jobs (
  kind              text COLLATE "C" NOT NULL,
  id                text COLLATE "C" NOT NULL,
  state             text COLLATE "C" NOT NULL,
  phase             smallint NOT NULL,
  payload           bytea NOT NULL,
  create_time       timestamptz NOT NULL,
  state_time        timestamptz NOT NULL,
  ready_time        timestamptz NOT NULL,  -- waiting: due; leased: end of the lease; ended: when
  entered           timestamptz NOT NULL,  -- kind time: the deadline's clock
  progressed        timestamptz NOT NULL,  -- kind time: the no-progress clock
  token             bigint NOT NULL DEFAULT 0,
  owner             text NOT NULL DEFAULT '',
  failures          integer NOT NULL DEFAULT 0,
  losses            integer NOT NULL DEFAULT 0,
  cancel_requested  boolean NOT NULL DEFAULT FALSE,
  reason            smallint NOT NULL DEFAULT 0,
  percent           smallint NOT NULL DEFAULT 0,
  note              text NOT NULL DEFAULT '',
  result            bytea NOT NULL DEFAULT '',
  last_request      text NOT NULL DEFAULT '',
  PRIMARY KEY (kind, id)
) WITH (fillfactor = 80);
-- The due index: what may be claimed, and whose lease has ended.
CREATE INDEX jobs_due ON polling.jobs (kind, ready_time, id) WHERE phase <= 2;
CREATE INDEX jobs_deadline ON polling.jobs (kind, entered) WHERE phase <= 2;
CREATE INDEX jobs_no_progress ON polling.jobs (kind, progressed) WHERE phase = 2;
CREATE INDEX jobs_ended ON polling.jobs (kind, ready_time, id) WHERE phase > 2;

-- History: every row says what happened to a job. Positions are given after the commit.
CREATE TABLE polling.job_events (
  number      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind        text COLLATE "C" NOT NULL,
  id          text COLLATE "C" NOT NULL,
  event_time  timestamptz NOT NULL,
  change      smallint NOT NULL,
  reason      smallint NOT NULL DEFAULT 0,
  from_state  text COLLATE "C" NOT NULL DEFAULT '',
  to_state    text COLLATE "C" NOT NULL,
  phase       smallint NOT NULL,
  token       bigint NOT NULL,
  owner       text NOT NULL DEFAULT '',
  note        text NOT NULL DEFAULT '',
  request     text NOT NULL DEFAULT '',
  position    bigint
);
CREATE INDEX job_events_by_job ON polling.job_events (kind, id, number);
CREATE INDEX job_events_unplaced ON polling.job_events (number) WHERE position IS NULL;
CREATE UNIQUE INDEX job_events_by_position ON polling.job_events (position)
  WHERE position IS NOT NULL;

-- Who changed what, other than single jobs.
CREATE TABLE polling.audit_entries (
  number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind         text COLLATE "C" NOT NULL,
  actor        text NOT NULL,
  action       text NOT NULL,
  before       text NOT NULL DEFAULT '',
  after        text NOT NULL DEFAULT '',
  note         text NOT NULL DEFAULT '',
  create_time  timestamptz NOT NULL
);
CREATE INDEX audit_entries_by_kind ON polling.audit_entries (kind, number);

CREATE TABLE polling.log_streams (
  stream text COLLATE "C" PRIMARY KEY,
  head bigint NOT NULL,
  epoch text NOT NULL,
  last_arrival timestamptz NOT NULL
);

-- Events that were committed and not yet delivered, in order of id.
CREATE TABLE polling.outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event text NOT NULL,       -- full message name of the payload: the routing key
  envelope bytea NOT NULL,   -- winnow.events.v1.Envelope
  create_time timestamptz NOT NULL DEFAULT now()
);

-- Which process drains the outbox: the holder, until its lease ends.
CREATE TABLE polling.outbox_lease (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  holder uuid NOT NULL,
  renew_time timestamptz NOT NULL,
  expire_time timestamptz NOT NULL
);

-- Events that a consumer could not take, with the reason.
CREATE TABLE polling.dead_letters (
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
