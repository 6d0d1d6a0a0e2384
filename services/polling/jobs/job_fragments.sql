-- The numbers of the enumerations in job.h.
-- fragment: Phase.kWaiting = 1
-- fragment: Phase.kLeased = 2
-- fragment: Phase.kBuried = 3
-- fragment: Phase.kCancelled = 6
-- fragment: StaleReason.kLeaseLost = 1
-- fragment: StaleReason.kNoProgress = 2
-- fragment: StaleReason.kDeadline = 3
-- fragment: StaleReason.kPoison = 5
-- fragment: Change.kReturned = 4
-- fragment: Change.kBuried = 5
-- fragment: Change.kCancelled = 9

-- Columns of a job under the alias j, and back.
-- fragment: job_columns
j.kind, j.id, j.state, j.phase, j.payload, j.create_time, j.state_time, j.ready_time, j.entered,
  j.progressed, j.token, j.owner, j.failures, j.losses, j.cancel_requested, j.reason, j.percent,
  j.note, j.result, j.last_request

-- A row of history and back.
-- fragment: event_columns
number, event_time, kind, id, change, reason, from_state, to_state, phase, token, owner, note,
  request, actor

-- The rules of a kind and the time, once for a statement: k. $1 is the kind.
-- fragment: kind_now
t AS MATERIALIZED (SELECT polling.now() AS now),
k AS MATERIALIZED (SELECT t.now, k.pause_time IS NOT NULL AS is_paused, coalesce(k.pause_time,
  t.now) - k.paused_us * interval '1 microsecond' AS kind_now,
  p.lease_us * interval '1 microsecond' AS lease, p.max_losses,
  p.no_progress_us * interval '1 microsecond' AS no_progress,
  p.deadline_us * interval '1 microsecond' AS deadline FROM t CROSS JOIN polling.kinds k
  JOIN polling.policies p ON p.kind = k.kind AND p.version = k.version WHERE k.kind = $1)

-- An advisory lock: exclusive for changes of policies, shared for transactions that rely on one.
-- fragment: policy_lock
hashtextextended('winnow.polling.policies', 0)

-- fragment: policy_columns
p.version, p.states, p.transitions_from, p.transitions_to, p.lease_us, p.no_progress_us,
  p.deadline_us, p.sweep_interval_us, p.poll_interval_us, p.backoff_base_us, p.backoff_max_us,
  p.max_attempts, p.max_losses, p.view_prefix, p.retention_us
