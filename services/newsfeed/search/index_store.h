#pragma once

#include <cstdint>
#include <span>

#include "services/newsfeed/search/index_rules.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"
#include "services/platform/postgres/session/session.h"

// What searches and keyword filters go by, made again for articles that were stored before there
// was such a thing, or by other rules (index_rules.h), before or while those of this version are at
// work. How far that is stands in the store, so that any process can continue it.
namespace winnow::newsfeed {

// What one step has done.
struct IndexStep {
  int64_t articles = 0;  // that were made again
  int64_t left = 0;      // positions of the log that are to be looked through still, at most
  bool done = false;
};

// How far the look through all articles by the rules of this version is.
IndexProgress ReadIndexProgress(pg::Session& session);

class IndexStore {
 public:
  // Looks at `look` positions of the log a step, and makes `chunk` again in a transaction.
  IndexStore(pg::Pool& reads, pg::Pool& writes, pg::Pool& logs, int look = 2'000, int chunk = 100)
      : reads_(reads), writes_(writes), logs_(logs), look_(look), chunk_(chunk) {}

  // One step. Done at once where a later version of the rules is at work.
  StatusOr<IndexStep> Continue(Deadline deadline);

 private:
  struct Look;
  StatusOr<Look> LookOn(Deadline deadline);
  StatusOr<int64_t> MakeAgain(Deadline deadline, std::span<const int64_t> numbers);

  pg::Pool& reads_;
  pg::Pool& writes_;
  pg::Pool& logs_;
  const int look_;
  const int chunk_;
};

}  // namespace winnow::newsfeed
