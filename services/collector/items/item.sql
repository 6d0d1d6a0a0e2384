-- include: services/collector/items/item_fragments.sql

-- Lists travel as array literals in text, for unnest would flatten an array of arrays.
-- name: collector.insert_items
INSERT INTO collector.items (id, identity, namespace, channel, external_id, url, canonical_url,
  title, snippet, language, channel_name, image_url, video_url, source_categories, keywords,
  publish_time, arrival_time, create_time, publish_time_assumed, channel_icon_url, ai_tags)
SELECT id, identity, namespace, channel, external_id, url, canonical_url, title, snippet,
  language, channel_name, image_url, video_url, source_categories::text[], keywords::text[],
  publish_time, arrival_time, create_time, assumed <> 0, channel_icon_url, ai_tags::text[]
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
  $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[],
  $15::text[], $16::timestamptz[], $17::timestamptz[], $18::timestamptz[], $19::bigint[],
  $20::text[], $21::text[]) AS i(id, identity, namespace, channel, external_id, url,
  canonical_url, title, snippet, language, channel_name, image_url, video_url, source_categories,
  keywords, publish_time, arrival_time, create_time, assumed, channel_icon_url, ai_tags)
ON CONFLICT (identity) DO NOTHING RETURNING id

-- name: collector.read_items_by_identity
{items_by|identity}
