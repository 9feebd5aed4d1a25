-- Lets running jobs count for caps that were set while they ran already. Returns how many did not count before.
-- Claims that began before a cap was set do not know it: upkeep calls this for some time after a gate has changed.
-- Locks: the running jobs that did not count.
-- Plan expected: a walk along the running jobs with three probes of gate each, then the rows by the primary key; only while a cap is young.
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
begin
  if not exists (select from fairmill.gate g where g.max_running is not null and g.changed_at > now() - interval '5 minutes') then
    return 0;
  end if;
  -- First who, then the change: in one statement the two would be joined the wrong way round, a walk along all that runs for each of them.
  select array_agg(m.id), array_agg(m.bits) into v_ids, v_bits
  from (
    select r.id, coalesce(r.counted, 0::smallint) | caps.bits as bits
    from fairmill.job r
    cross join lateral (
      select (exists (select from fairmill.gate g where g.scope = 'tenant' and g.name = r.tenant and g.max_running is not null)::integer
        | exists (select from fairmill.gate g where g.scope = 'queue' and g.name = r.queue and g.max_running is not null)::integer * 2
        | exists (select from fairmill.gate g where g.scope = 'kind' and g.name = r.kind and g.max_running is not null)::integer * 4)::smallint as bits
      offset 0) caps
    where r.state = 'running' and caps.bits & ~coalesce(r.counted, 0::smallint) <> 0
    for update of r skip locked) m;
  if v_ids is null then
    return 0;
  end if;
  update fairmill.job j set counted = m.bits
  from unnest(v_ids, v_bits) as m (id, bits)
  where j.id = m.id;
  return cardinality(v_ids);
end
$$;
