#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/newsfeed/articles/article.h"
#include "services/newsfeed/articles/citation.h"
#include "services/newsfeed/articles/commit_position.h"
#include "services/newsfeed/articles/upsert.h"
#include "services/newsfeed/write/log_batch.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"
#include "services/platform/postgres/schema/migrate.h"

namespace winnow::newsfeed {

pg::Migrations StoreMigrations();

// Changes articles. Every change that a feed shows is appended to the log of all feeds (stream
// "feeds") in the transaction that makes it, so a reader of one position sees all of it.
class WriteStore {
 public:
  struct Options {
    Micros max_future = std::chrono::minutes(10);  // later publish times are clamped to now + this
  };

  // `logs` is for log transactions only.
  WriteStore(pg::Pool& writes, pg::Pool& logs, const Clock& clock, CommitPosition& last_commit,
             Options options)
      : writes_(writes), logs_(logs), clock_(clock), last_commit_(last_commit), options_(options) {}

  // Stores valid articles; one result each, in order; durable when it returns. The articles of one
  // call count as one batch, however many transactions it takes.
  StatusOr<std::vector<StatusOr<Upserted>>> Upsert(Deadline deadline, std::span<const Sent> sent);
  // Returns when the article was deleted first. NOT_FOUND.
  StatusOr<Time> Delete(Deadline deadline, const std::string& ns, const std::string& id);
  // Returns the article as it is now. NOT_FOUND.
  StatusOr<StoredArticle> Undelete(Deadline deadline, const std::string& ns, const std::string& id);
  // Adds citations. Idempotent by (original, duplicate).
  Status Cite(Deadline deadline, std::span<const Citation> citations);

 private:
  pg::Pool& writes_;
  pg::Pool& logs_;
  const Clock& clock_;
  CommitPosition& last_commit_;
  const Options options_;
  LogBatch log_batch_;
};

}  // namespace winnow::newsfeed
