-- The columns of an item, in the order in which ToItem reads them.
-- fragment: item_columns
id, namespace, channel, external_id, url, canonical_url, title, snippet, language, channel_name,
  image_url, video_url, source_categories, keywords, publish_time, arrival_time, create_time,
  publish_time_assumed, channel_icon_url, ai_tags

-- Items by an array of keys. The LIMIT makes it a look-up by index for each key: = ANY, or a plain
-- join, of a table that was never analysed may be planned as a scan, and stay that.
-- fragment: items_by(key)
SELECT {item_columns} FROM unnest($1::uuid[]) AS wanted(key)
CROSS JOIN LATERAL (SELECT {item_columns} FROM collector.items WHERE {key} = wanted.key
  LIMIT 1) AS found
