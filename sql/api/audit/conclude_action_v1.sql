-- Says what came of a recorded action; the first word counts.
--   outcome  done | refused | failed;  error: why, where it was not done;  detail: added to what is there
-- Locks: none but the row of the action.
create or replace function fairmill.conclude_action_v1(event_id bigint, outcome text, error text default null,
  detail jsonb default '{}')
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  update fairmill.audit_event a
  set outcome = conclude_action_v1.outcome, error = left(conclude_action_v1.error, 2000),
    detail = a.detail || conclude_action_v1.detail
  where a.id = event_id and a.outcome is null;
end
$$;
