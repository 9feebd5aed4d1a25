-- Moves due jobs on: to ready, or to blocked where their key has no free slot. Returns how many; call again while it
-- returns jobs_max.
-- Locks: as promote_rows, then as finish_transitions.
create or replace function fairmill.promote_v1(jobs_max integer default 1000)
returns integer
language plpgsql
as $$
declare
  v_rows record;
begin
  select * into v_rows from fairmill.promote_rows(jobs_max);
  perform fairmill.finish_transitions(v_rows.queues, v_rows.keys);
  return v_rows.promoted;
end
$$;
