-- oldest-compatible: 0.2.0
-- Who may write the projection in Redis: one process at a time, by a fence that only grows.
CREATE TABLE newsfeed.projector_lease (
  only_row boolean PRIMARY KEY DEFAULT TRUE CHECK (only_row),
  holder uuid NOT NULL,
  fence bigint NOT NULL,
  expire_time timestamptz NOT NULL
);

-- What was written last of each feed: whoever reads it back compares.
CREATE TABLE newsfeed.projections (
  feed text COLLATE "C" PRIMARY KEY,
  position bigint NOT NULL,
  epoch text NOT NULL,
  checksum uuid NOT NULL,
  fence bigint NOT NULL,
  projected_at timestamptz NOT NULL
);
