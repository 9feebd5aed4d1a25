-- Locks the gates of a claim and says how much room each of them has. Part of claim_gated_v1.
-- Result: by scope and name an object: room (how many may start now; 0: closed), why it is closed (paused | cap | rate), bit (what a run
-- counts for if there is a cap), free (room under the cap), per_ms and the like if there is a rate, open_at (when a rate opens).
-- Only gates that say something are in it.
-- Locks: meters of use start: queues, then kinds, then tenants, each by name.
-- Plan expected: a probe of gate per name, a range of job_running_<scope> per cap.
create or replace function fairmill.gate_rooms_v1(queues text[], kinds text[], tenants text[])
returns jsonb
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
  v_scopes text[];
  v_names  text[];
  v_scope  text;
  v_locked text[];
  v_rooms  jsonb;
begin
  select array_agg(g.scope), array_agg(g.name) into v_scopes, v_names
  from (
    select x.scope, x.name from (select distinct u.name from unnest(queues) as u (name)) q
    join fairmill.gate x on x.scope = 'queue' and x.name = q.name and (x.paused_at is not null or x.max_running is not null or x.rate_at = 'start')
    union all
    select x.scope, x.name from (select distinct u.name from unnest(tenants) as u (name)) t
    join fairmill.gate x on x.scope = 'tenant' and x.name = t.name and (x.paused_at is not null or x.max_running is not null or x.rate_at = 'start')
    union all
    select x.scope, x.name from fairmill.gate x
    where x.scope = 'kind' and (kinds is null or x.name = any (kinds)) and (x.paused_at is not null or x.max_running is not null or x.rate_at = 'start')) g;

  foreach v_scope in array array['queue', 'kind', 'tenant'] loop
    v_locked := array(select g.name from unnest(v_scopes, v_names) as g (scope, name) where g.scope = v_scope);
    if cardinality(v_locked) > 0 then
      perform fairmill.lock_meters_v1('start', v_scope, v_locked);
    end if;
  end loop;

  -- Read again, because whoever changes a gate does so under its lock.
  select jsonb_object_agg(scope.scope, scope.gates) into v_rooms
  from (
    select g.scope, jsonb_object_agg(g.name, jsonb_strip_nulls(jsonb_build_object(
        'room', case when g.paused_at is not null then 0 else greatest(0, least(cap.free, rate.room)) end,
        'why', case when g.paused_at is not null then 'paused' when cap.free <= 0 then 'cap' when rate.room <= 0 then 'rate' end,
        'bit', case when g.max_running is not null then case g.scope when 'tenant' then 1 when 'queue' then 2 else 4 end end,
        'free', cap.free,
        'limit', case when g.rate_at = 'start' then g.rate_limit end, 'per_ms', case when g.rate_at = 'start' then g.rate_per_ms end,
        'how', case when g.rate_at = 'start' then g.rate_how end,
        'open_at', case when rate.room <= 0 then rate.open_at end))) as gates
    from unnest(v_scopes, v_names) as locked (scope, name)
    join fairmill.gate g on g.scope = locked.scope and g.name = locked.name
    cross join lateral (select g.max_running - case g.scope
        when 'tenant' then (select count(*) from fairmill.job j where j.state = 'running' and j.counted & 1 = 1 and j.tenant = g.name)
        when 'queue' then (select count(*) from fairmill.job j where j.state = 'running' and j.counted & 2 = 2 and j.queue = g.name)
        else (select count(*) from fairmill.job j where j.state = 'running' and j.counted & 4 = 4 and j.kind = g.name) end as free
      where g.max_running is not null and g.paused_at is null
      union all select null where g.max_running is null or g.paused_at is not null) cap
    cross join lateral (select r.room, r.open_at
      from fairmill.meter m cross join lateral fairmill.rate_room_v1(m.spent_at, m.spent, g.rate_limit, g.rate_per_ms, g.rate_how, clock_timestamp()) r
      where g.rate_at = 'start' and g.paused_at is null and m.use = 'start' and m.scope = g.scope and m.name = g.name
      union all select null, null where g.rate_at is distinct from 'start' or g.paused_at is not null) rate
    group by g.scope) scope;
  return coalesce(v_rooms, '{}');
end
$$;
