-- Entries that differ in their comment alone and in what it was and is.
-- name: classification.audit
INSERT INTO classification.audit_entries (comment_id, before, after, namespace, video_id, run,
  appeal, actor, action, note, create_time)
SELECT u.comment_id, u.before, u.after, $4, $5, $6::bigint, $7::bigint, $8, $9, $10,
  $11::timestamptz FROM unnest($1::text[], $2::text[], $3::text[]) AS u(comment_id, before, after)

-- fragment: audit_columns
id, video_id, comment_id, run, appeal, actor, action, before, after, note, create_time

-- name: classification.list_audit
SELECT {audit_columns} FROM classification.audit_entries WHERE namespace = $1 AND id < $2
ORDER BY id DESC LIMIT $3

-- name: classification.list_audit_of
SELECT {audit_columns} FROM classification.audit_entries
WHERE namespace = $1 AND id < $2 AND video_id = $4 ORDER BY id DESC LIMIT $3

-- Below the oldest transaction in flight everything is settled: nothing can come before it later.
-- name: classification.read_changes
SELECT {audit_columns}, writer::text FROM classification.audit_entries
WHERE namespace = $1 AND (writer, id) > ($2::text::xid8,
  $3::bigint) AND writer < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY writer, id LIMIT $4

-- name: classification.changes_head
SELECT pg_snapshot_xmin(pg_current_snapshot())::text
