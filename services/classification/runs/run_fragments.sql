-- Columns of a run under the aliases r (runs) and w (videos).
-- fragment: run_columns
r.id, w.namespace, w.video_id, r.classifier, r.model, r.policy, r.policy_version, r.state,
  r.activate, r.input_count, r.classified, r.failed,
  w.comment_count - r.n_normal - r.n_filtered - r.n_suggestion, r.n_normal, r.n_filtered,
  r.n_suggestion, coalesce(r.id = w.active_run, FALSE), r.calls, r.cost_micros, r.budget_micros,
  r.pause_reason, r.create_time, r.end_time
