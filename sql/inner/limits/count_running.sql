-- Lets running jobs count for caps that were set while they ran already. Returns how many did not count before.
-- Claims that began before a cap was set do not know it: upkeep calls this for some time after a limit has changed.
--   limit_scope, limit_name  only for this limit: of a caller who has its lock, and must not ask for those before it;
--                            null: for all
-- Locks: 5 limit meter.
-- Plan expected: a walk along what is in the hands of workers, and a probe of limit_setting and of meter for each name
-- among them; only while a cap is young.
create or replace function fairmill.count_running(limit_scope text default null, limit_name text default null)
returns integer
language plpgsql
as $$
#variable_conflict use_column
declare
  v_listed jsonb;
  v_count  integer;
  v_scope  text;
  v_names  text[];
begin
  if not exists (select from fairmill.limit_setting g where g.max_running is not null
    and g.changed_at > now() - interval '5 minutes') then
    return 0;
  end if;
  with held as materialized (select h.id, h.tenant, h.queue, h.kind from fairmill.claimed_jobs() h),
  own (scope, name, ids) as materialized (
    select 'tenant', h.tenant, array_agg(h.id) from held h group by h.tenant
    union all select 'queue', h.queue, array_agg(h.id) from held h group by h.queue
    union all select 'kind', h.kind, array_agg(h.id) from held h group by h.kind)
  select jsonb_object_agg(o.scope || ' ' || o.name, missed.ids::text),
    coalesce(sum(cardinality(missed.ids)), 0) into v_listed, v_count
  from own o
  -- Asked for each name (offset 0): from the side of the limits it would be all that runs for each of them.
  cross join lateral (select x.scope, x.name from fairmill.limit_setting x where x.scope = o.scope and x.name = o.name
    and x.max_running is not null offset 0) g
  left join lateral (select x.running_ids from fairmill.meter x where x.use = 'start' and x.scope = o.scope
    and x.name = o.name offset 0) m on true
  cross join lateral (select array(select unnest(o.ids) except select unnest(m.running_ids)) as ids) missed
  where cardinality(missed.ids) > 0 and (limit_scope is null or o.scope = limit_scope and o.name = limit_name);
  if v_count = 0 then
    return 0;
  end if;
  foreach v_scope in array array['queue', 'kind', 'tenant'] loop
    v_names := array(select substr(l.name, strpos(l.name, ' ') + 1) from jsonb_object_keys(v_listed) as l (name)
      where starts_with(l.name, v_scope || ' '));
    if cardinality(v_names) > 0 then
      perform fairmill.lock_meters('start', v_scope, v_names);
    end if;
  end loop;
  -- Whoever ended meanwhile leaves the list when it is next gone through.
  perform fairmill.list_running_ids(v_listed);
  return v_count;
end
$$;
