-- oldest-compatible: 0.2.0
-- contract: items.source_name: channel_name has its place since 0004, in every release
-- Where 0004 was applied as it once was, there is no source_name any more.
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'collector.items'::regclass
      AND attname = 'source_name' AND NOT attisdropped) THEN
    LOCK TABLE collector.items IN SHARE ROW EXCLUSIVE MODE;
    UPDATE collector.items SET channel_name = source_name
      WHERE channel_name = '' AND source_name <> '';
    ALTER TABLE collector.items DROP COLUMN source_name;
  END IF;
END $$;
ALTER TABLE collector.items ALTER COLUMN channel_name DROP DEFAULT;
