-- A job that somebody asked to cancel does not wait for another turn: its verdict becomes cancelled.
-- Locks: 8 job.
create or replace function fairmill.apply_cancel_requests(ids bigint[], verdicts text[])
returns text[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_asked bigint[];
begin
  with held as (select j.id, j.cancel_requested_at from fairmill.job j where j.id = any (ids) order by j.id for update)
  select array_agg(held.id) into v_asked from held where held.cancel_requested_at is not null;
  if v_asked is null then
    return verdicts;
  end if;
  return array(select case when v.verdict in ('retry', 'snooze', 'release') and v.id = any (v_asked) then 'cancelled'
    else v.verdict end
               from unnest(ids, verdicts) with ordinality as v (id, verdict, n) order by v.n);
end
$$;
