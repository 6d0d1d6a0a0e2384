#pragma once

#include "services/collector/sources/source.h"
#include "services/platform/postgres/session/session.h"

// Rows of collector.sources and collector.runs, to and from the domain.
namespace winnow::collector {

// The columns of a source, in the order in which ToSource reads them.
#define WINNOW_COLLECTOR_SOURCE_COLUMNS                                                         \
  "id, namespace, display_name, kind, credential, query, url, country, language, category,"     \
  " timeframe, channel, page_size, max_pages, by_similarity, skip_images, categories,"          \
  " interval_seconds, max_interval_seconds, current_interval_seconds, state, revision,"         \
  " failures, feed_etag, feed_modified, create_time, update_time, next_run_time, success_time," \
  " requested_run_id, run_id, unread_pages"

#define WINNOW_COLLECTOR_RUN_COLUMNS                                                       \
  "id, source_id, namespace, kind, requested, outcome, code, begin_time, end_time, calls," \
  " new_items, known_items, refused_items, fetched_pages, found_images"

Source ToSource(const pqxx::row& row);
Run ToRun(const pqxx::row& row);

// The columns from id to max_interval_seconds, as $1 to $19.
pg::Parameters SourceParameters(const Source& source);
// All columns of a run, as $1 to $15.
pg::Parameters RunParameters(const Run& run);

std::string ToArrayLiteral(const std::vector<std::string>& words);

}  // namespace winnow::collector
