-- Moves scheduled jobs whose time has come on to where they belong: ready, or blocked where their key has no free place.
-- The caller has locked them. Result: the queues in which a job became ready.
-- Locks: the meters of their keys.
create or replace function fairmill.admit_v1(ids bigint[])
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_queues  text[];
  v_keys    text[];
begin
  with due as (
    -- Who holds a place keeps it: a rate had put it back.
    update fairmill.job j set state = case when j.limit_key is null or j.slot is not null then 'ready' else 'blocked' end
    -- Said in this way it fits the primary key alone: by the index on scheduled jobs every id would be a walk along all of them.
    where j.id = any (ids) and j.state is not distinct from 'scheduled'
    returning j.queue, j.state, j.limit_key)
  select array_agg(distinct d.queue) filter (where d.state = 'ready'), array_agg(distinct d.limit_key) filter (where d.state = 'blocked')
    into v_queues, v_keys
  from due d;
  if v_keys is not null then
    select array(select unnest(v_queues) union select a.queue from fairmill.admit_keys_v1(v_keys) a) into v_queues;
  end if;
  return coalesce(v_queues, '{}');
end
$$;
