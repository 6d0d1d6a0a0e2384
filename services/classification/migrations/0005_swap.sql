-- oldest-compatible: 0.2.0
-- The pointer of a video, from its active run to another: locked, looked at and moved in one round
-- trip, each statement of a snapshot of its own. `back`: p_run is active and left for the one
-- before, else it becomes active. What came of it (Swap of store_runs.cc), and what is active then.
-- Its numbers and parameters are fixed, as processes of two versions call it: another behaviour is
-- another function.
CREATE FUNCTION classification.swap_run(
  p_namespace text, p_run bigint, back boolean, max_failed_share double precision, p_actor text,
  p_note text, p_now timestamptz,
  OUT outcome integer, OUT r classification.runs, OUT w classification.videos)
LANGUAGE plpgsql AS $$
DECLARE
  previous bigint;
BEGIN
  w := (SELECT v FROM classification.videos v
    WHERE v.number = (SELECT video FROM classification.runs WHERE id = p_run)
      AND v.namespace = p_namespace FOR NO KEY UPDATE);
  r := (SELECT x FROM classification.runs x
    WHERE x.id = p_run AND x.video = w.number AND x.classifier <> '' FOR NO KEY UPDATE);
  outcome := CASE
    WHEN r.id IS NULL THEN 1
    WHEN back AND w.active_run IS DISTINCT FROM p_run THEN 2
    WHEN back AND w.previous_run IS NULL THEN 3
    WHEN back THEN 0
    WHEN w.active_run = p_run THEN 4
    WHEN r.state <> 4 THEN 5
    WHEN r.classified + r.failed <> r.input_count THEN 6
    WHEN r.failed > max_failed_share * r.input_count THEN 7
    ELSE 0 END;
  IF outcome IN (0, 4) AND r.activate THEN
    UPDATE classification.runs SET activate = FALSE WHERE id = p_run;
    r.activate := FALSE;
  END IF;
  IF outcome <> 0 THEN
    RETURN;
  END IF;
  IF back THEN
    r := (SELECT x FROM classification.runs x WHERE x.id = w.previous_run);
  END IF;
  -- A run that only holds overrides is none to come back to.
  previous := (SELECT x.id FROM classification.runs x
    WHERE x.id = w.active_run AND x.classifier <> '');
  UPDATE classification.videos v SET active_run = r.id, previous_run = previous,
    revision = revision + 1 WHERE v.number = w.number;
  w.active_run := r.id;
  INSERT INTO classification.audit_entries
    (namespace, video_id, run, actor, action, before, after, note, create_time)
    VALUES (w.namespace, w.video_id, r.id, p_actor,
      CASE WHEN back THEN 'rollback' ELSE 'activate' END, coalesce(previous::text, ''),
      r.id::text, p_note, p_now);
END $$;
