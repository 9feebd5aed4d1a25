-- Ends a bulk action early, or lets one that was ended go on behind its cursor. What was done stays.
--   state  stopped | failed (with error) | running: it goes on
-- Result: the state that it has now; not_found.
-- Locks: 0 long action: waits for a step that is under way.
create or replace function fairmill.end_bulk_v1(bulk_id bigint, new_state text, error text default null)
returns text
language plpgsql
as $$
#variable_conflict use_column
declare
  v_state text;
begin
  if new_state not in ('stopped', 'failed', 'running') then
    raise exception 'a bulk action cannot be made %', new_state using errcode = 'FM001',
      hint = 'Say stopped, failed or running.';
  end if;
  update fairmill.bulk_action b
  set state = new_state, error = end_bulk_v1.error, updated_at = clock_timestamp(),
    ended_at = case when new_state <> 'running' then clock_timestamp() end
  where b.id = bulk_id
    and case when new_state = 'running' then b.state in ('stopped', 'failed') else b.state = 'running' end
  returning b.state into v_state;
  return coalesce(v_state, (select b.state from fairmill.bulk_action b where b.id = bulk_id), 'not_found');
end
$$;
