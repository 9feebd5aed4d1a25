-- Ends jobs that waited longer than their time to live. Returns how many; call again while it returns jobs_max.
-- Locks: as expire_rows, then as finish_transitions.
create or replace function fairmill.expire_v1(jobs_max integer default 1000)
returns integer
language plpgsql
as $$
declare
  v_rows record;
begin
  select * into v_rows from fairmill.expire_rows(jobs_max);
  perform fairmill.finish_transitions(null, v_rows.keys, v_rows.members);
  return v_rows.expired;
end
$$;
