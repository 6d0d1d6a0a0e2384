-- oldest-compatible: 0.2.0
-- The database systems (PostgreSQL's system identifier, which initdb makes) that this database was
-- accepted on, in order. A dump carries the rows along: restored elsewhere, the last one is not the
-- system it runs on, and Winnow does not use it until `winnow migrate --accept-system` adds that.
CREATE TABLE platform.accepted_systems (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  system_identifier text NOT NULL,
  accept_time timestamptz NOT NULL DEFAULT now()
);

INSERT INTO platform.accepted_systems (system_identifier)
SELECT system_identifier::text FROM pg_control_system();
