#pragma once

#include "services/classification/audit/audit_store.h"
#include "services/classification/comments/comment_store.h"
#include "services/classification/comments/request_store.h"
#include "services/classification/comments/verdict_store.h"
#include "services/classification/people/appeal_store.h"
#include "services/classification/people/override_store.h"
#include "services/classification/policy/policy_store.h"
#include "services/classification/projection/projection_store.h"
#include "services/classification/runs/lease_store.h"
#include "services/classification/runs/run_store.h"
#include "services/platform/base/clock.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::classification {

// Every store of the service, over the same database.
struct StoreSet {
  // `retention`: how long videos, results of calls and cached verdicts are kept.
  StoreSet(pg::Pool& reads, pg::Pool& writes, const Clock& clock, Micros retention)
      : audit(reads),
        comments(reads, writes, clock, retention),
        requests(reads, writes, clock, retention),
        verdicts(reads),
        overrides(writes, clock),
        appeals(reads, writes, clock, verdicts),
        policies(reads, writes, clock),
        cached_policies(policies),
        runs(reads, writes, clock, cached_policies),
        leases(reads, writes, clock, retention),
        projections(reads, writes) {}

  AuditStore audit;
  CommentStore comments;
  RequestStore requests;
  VerdictStore verdicts;
  OverrideStore overrides;
  AppealStore appeals;
  PolicyStore policies;
  CachedPolicyStore cached_policies;
  RunStore runs;
  LeaseStore leases;
  ProjectionStore projections;
};

}  // namespace winnow::classification
