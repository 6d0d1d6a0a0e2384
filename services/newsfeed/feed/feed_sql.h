#pragma once

#include "services/platform/postgres/session/session.h"

// The statements that cut one page out of a feed. Each is one statement, hence one snapshot: the
// rows, the place where looking stopped, and the head of the log belong together.
//
// Parameters: $1 feed, $2 and $3 the key below which the page begins, $4 the earliest publish time,
// $5 rows to look at, $6 and $7 positions (after, until), $8 sources, $9 languages, $10 has_image
// (null: any), $11 rows wanted, $12 namespace, $13 keywords (a tsquery; null: any). PageByKeyword
// has two more: $14 a keyword of each alternative, $15 the bits of all of its keywords.
//
// Rows, distinguished by kKind: one of the state of the log; hits with their article, newest first;
// at most one, the last, with the key where looking stopped.
namespace winnow::newsfeed {

enum PageRow { kStateRow, kHitRow, kMarkerRow };

enum PageColumn {
  kKind,
  kHead,  // of the state, like the next four; null in other rows
  kChangedAt,
  kCreatedAt,
  kTreeRevision,
  kOverflow,  // too many newer entries to sort: scan instead
  kSeq,       // of a hit: when it came into the feed
  kKeyTime,   // of a hit or the marker
  kKeyId,
  kContent,  // of a hit: the first of kContentColumns
};

// Which index the page is read by.
const pg::Statement& PageByKey();
const pg::Statement& PageBySource();    // $8 not null; $5 is per source
const pg::Statement& PageByLanguage();  // $9 not null; $5 is per language
const pg::Statement& PageByKeyword();   // $5 is per alternative
const pg::Statement& PageBySeq();       // the newer feed: few entries after $6

}  // namespace winnow::newsfeed
