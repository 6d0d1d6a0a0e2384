-- oldest-compatible: 0.2.0
-- A video and what is said of its comments. The active run is a pointer: a swap is one update.
CREATE TABLE classification.videos (
  number         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  namespace      text COLLATE "C" NOT NULL,
  video_id       text COLLATE "C" NOT NULL,
  comment_count  bigint NOT NULL DEFAULT 0,
  active_run     bigint,
  previous_run   bigint,
  create_time    timestamptz NOT NULL,
  expire_time    timestamptz NOT NULL,
  revision       bigint NOT NULL DEFAULT 0,  -- of what readers see
  projected      bigint NOT NULL DEFAULT 0,  -- of these, the one that Redis holds
  UNIQUE (namespace, video_id)
);
CREATE INDEX videos_to_project ON classification.videos (number) WHERE revision <> projected;
CREATE INDEX videos_by_expiry ON classification.videos (expire_time);

-- Raw bytes as they came, in parts. Only ever inserted and deleted.
CREATE TABLE classification.raw_parts (
  video      bigint NOT NULL REFERENCES classification.videos ON DELETE CASCADE,
  upload_id  text COLLATE "C" NOT NULL,
  part       integer NOT NULL,
  bytes      bytea NOT NULL,
  PRIMARY KEY (video, upload_id, part)
);

CREATE TABLE classification.comments (
  number        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  video         bigint NOT NULL REFERENCES classification.videos ON DELETE CASCADE,
  id            text COLLATE "C" NOT NULL,
  alias         text COLLATE "C",  -- last part of a reply's id
  parent_id     text COLLATE "C",
  body          text NOT NULL,
  content_hash  bigint NOT NULL,
  sort_time     timestamptz NOT NULL,  -- published, or imported where that is not known
  update_time   timestamptz
);
CREATE UNIQUE INDEX comments_by_id ON classification.comments (video, id);
CREATE INDEX comments_by_alias ON classification.comments (video, alias) WHERE alias IS NOT NULL;
CREATE INDEX comments_by_number ON classification.comments (video, number);

-- Counts n_* are of resolved statuses and change with every write of a verdict or an override.
CREATE TABLE classification.runs (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  video           bigint NOT NULL REFERENCES classification.videos ON DELETE CASCADE,
  classifier      text NOT NULL,  -- '': the run of a video that none classified yet
  model           text NOT NULL,
  policy          text NOT NULL,
  policy_version  bigint NOT NULL,
  state           smallint NOT NULL,
  activate        boolean NOT NULL DEFAULT FALSE,
  request_id      text COLLATE "C",
  input_high      bigint NOT NULL,  -- comments up to this number are its input
  input_count     bigint NOT NULL,
  classified      bigint NOT NULL DEFAULT 0,
  failed          bigint NOT NULL DEFAULT 0,
  n_normal        bigint NOT NULL DEFAULT 0,
  n_filtered      bigint NOT NULL DEFAULT 0,
  n_suggestion    bigint NOT NULL DEFAULT 0,
  budget_micros   bigint NOT NULL DEFAULT 0,
  cost_micros     bigint NOT NULL DEFAULT 0,
  calls           bigint NOT NULL DEFAULT 0,
  pause_reason    smallint NOT NULL DEFAULT 0,
  lease_owner     text,
  lease_until     timestamptz,
  lease_epoch     bigint NOT NULL DEFAULT 0,
  create_time     timestamptz NOT NULL,
  end_time        timestamptz
);
CREATE INDEX runs_by_video ON classification.runs (video, id);
CREATE UNIQUE INDEX runs_by_request ON classification.runs (video, request_id)
  WHERE request_id IS NOT NULL;
CREATE INDEX runs_to_work ON classification.runs (id) WHERE state IN (1, 2);
CREATE INDEX runs_to_activate ON classification.runs (id) WHERE activate AND state = 4;

-- status and failure are the run's own; resolved is what readers see. A row with neither holds
-- the place of an override of a comment that the run did not classify.
CREATE TABLE classification.verdicts (
  run           bigint NOT NULL REFERENCES classification.runs ON DELETE CASCADE,
  comment       bigint NOT NULL,
  status        smallint,
  resolved      smallint,
  failure       smallint NOT NULL DEFAULT 0,
  source        smallint NOT NULL DEFAULT 0,
  overridden    boolean NOT NULL DEFAULT FALSE,
  score         real NOT NULL DEFAULT 0,
  content_hash  bigint NOT NULL DEFAULT 0,
  sort_time     timestamptz NOT NULL,
  reason        text NOT NULL DEFAULT '',
  PRIMARY KEY (run, comment)
);
CREATE INDEX verdicts_newest ON classification.verdicts
  (run, resolved, sort_time DESC, comment DESC) WHERE resolved IS NOT NULL;
CREATE INDEX verdicts_highest ON classification.verdicts
  (run, resolved, score DESC, comment DESC) WHERE resolved IS NOT NULL;
CREATE INDEX verdicts_overridden ON classification.verdicts (run, comment) WHERE overridden;

CREATE TABLE classification.overrides (
  comment      bigint PRIMARY KEY REFERENCES classification.comments ON DELETE CASCADE,
  video        bigint NOT NULL REFERENCES classification.videos ON DELETE CASCADE,
  status       smallint NOT NULL,
  reason       text NOT NULL,
  actor        text NOT NULL,
  bulk         bigint NOT NULL DEFAULT 0,
  create_time  timestamptz NOT NULL
);
CREATE INDEX overrides_by_video ON classification.overrides (video, bulk);

CREATE TABLE classification.appeals (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  video        bigint NOT NULL REFERENCES classification.videos ON DELETE CASCADE,
  comment      bigint NOT NULL REFERENCES classification.comments ON DELETE CASCADE,
  request_id   text COLLATE "C" NOT NULL,
  status       smallint NOT NULL,
  actor        text NOT NULL,
  note         text NOT NULL,
  resolved     boolean NOT NULL DEFAULT FALSE,
  granted      boolean NOT NULL DEFAULT FALSE,
  create_time  timestamptz NOT NULL,
  UNIQUE (video, request_id)
);

CREATE INDEX appeals_by_comment ON classification.appeals (comment);

CREATE TABLE classification.policies (
  namespace    text COLLATE "C" NOT NULL,
  name         text COLLATE "C" NOT NULL,
  version      bigint NOT NULL,
  body         bytea NOT NULL,
  create_time  timestamptz NOT NULL,
  PRIMARY KEY (namespace, name, version)
);

-- Only ever inserted; the texts of a video's entries go with it. position numbers committed rows,
-- so that who has read to P has missed nothing below it.
CREATE TABLE classification.audit_entries (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  namespace    text COLLATE "C" NOT NULL,
  video_id     text COLLATE "C" NOT NULL DEFAULT '',
  comment_id   text COLLATE "C" NOT NULL DEFAULT '',
  run          bigint NOT NULL DEFAULT 0,
  actor        text NOT NULL,
  action       text NOT NULL,
  before       text NOT NULL DEFAULT '',
  after        text NOT NULL DEFAULT '',
  note         text NOT NULL DEFAULT '',
  create_time  timestamptz NOT NULL,
  writer       xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX audit_by_namespace ON classification.audit_entries (namespace, id);
CREATE INDEX audit_by_video ON classification.audit_entries (namespace, video_id, id);
CREATE INDEX audit_by_writer ON classification.audit_entries (namespace, writer, id);
CREATE SEQUENCE classification.bulks;
