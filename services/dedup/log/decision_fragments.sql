-- Columns in the order that DecisionOf reads.
-- fragment: decision_columns
document_id, channel, verdict, original_id, similarity, stage, policy_version, arrival_time,
  decide_time, degradations
