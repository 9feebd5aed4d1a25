-- Lets running jobs count for caps that were set while they ran already. Returns how many did not count before.
-- Claims that began before a cap was set do not know it: upkeep calls this for some time after a gate has changed.
-- Locks: the running jobs that did not count.
-- Plan expected: a walk along what is in the hands of workers with three probes of gate each, then the rows by the primary key; only while
-- a cap is young.
create or replace function fairmill.count_running_v1()
returns integer
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
  v_ids  bigint[];
  v_bits smallint[];
  v_locked bigint[];
begin
  if not exists (select from fairmill.gate g where g.max_running is not null and g.changed_at > now() - interval '5 minutes') then
    return 0;
  end if;
  -- First who, then the change: in one statement the two would be joined the wrong way round, a walk along all that runs for each of them.
  select array_agg(missed.id), array_agg(missed.bits) into v_ids, v_bits
  from (
    select r.id, coalesce(r.counted, 0::smallint) | caps.bits as bits
    from fairmill.in_hand_v1() r
    cross join lateral (
      select (case when exists (select from fairmill.gate g where g.scope = 'tenant' and g.name = r.tenant and g.max_running is not null) then 1 else 0 end
            + case when exists (select from fairmill.gate g where g.scope = 'queue' and g.name = r.queue and g.max_running is not null) then 2 else 0 end
            + case when exists (select from fairmill.gate g where g.scope = 'kind' and g.name = r.kind and g.max_running is not null) then 4 else 0 end)::smallint as bits
      offset 0) caps
    where coalesce(r.counted, 0::smallint) | caps.bits <> coalesce(r.counted, 0::smallint)
    order by r.id) missed;
  -- Whoever is locked is being settled, or is found again.
  v_locked := array(select j.id from fairmill.job j where j.id = any (v_ids) and j.worker is not null for update skip locked);
  update fairmill.job j set counted = v_bits[width_bucket(j.id, v_ids)] where j.id = any (v_locked);
  return cardinality(v_locked);
end
$$;
