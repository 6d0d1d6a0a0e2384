-- include: services/collector/items/item_fragments.sql

-- name: collector.get_items
{items_by|id}

-- The snapshot filters by the writer's transaction, so that it does not matter when an item arrived
-- by its own account, nor in which order writers began or committed (docs/adr/0004).
-- fragment: list(channel_filter)
SELECT {item_columns} FROM collector.items
WHERE namespace = $1 {channel_filter} AND (arrival_time, id) < ($2::timestamptz,
  $3::uuid) AND (id <= $4::uuid OR pg_visible_in_snapshot(writer, $5::pg_snapshot))
ORDER BY arrival_time DESC, id DESC LIMIT $6::integer

-- name: collector.list_items
{list|}

-- name: collector.list_channel_items
{list|AND channel = $7}

-- name: collector.read_world
SELECT pg_current_snapshot()::text, c.system_identifier, o.cluster, o.settled_id
FROM pg_control_system() AS c, collector.origin AS o

-- Transaction numbers of another cluster mean nothing here: what came from there is settled.
-- name: collector.settle
UPDATE collector.origin SET cluster = c.system_identifier, settled_id = coalesce( (SELECT id
    FROM collector.items ORDER BY id DESC LIMIT 1), settled_id) FROM pg_control_system() AS c
WHERE cluster <> c.system_identifier
