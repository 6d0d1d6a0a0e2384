-- The columns of a source, in the order in which ToSource reads them.
-- fragment: source_columns
id, namespace, display_name, kind, credential, query, url, country, language, category, timeframe,
  channel, page_size, max_pages, by_similarity, skip_images, categories, interval_seconds,
  max_interval_seconds, current_interval_seconds, state, revision, failures, feed_etag,
  feed_modified, create_time, update_time, next_run_time, success_time, requested_run_id, run_id,
  unread_pages

-- fragment: run_columns
id, source_id, namespace, kind, requested, outcome, code, begin_time, end_time, calls, new_items,
  known_items, refused_items, fetched_pages, found_images
