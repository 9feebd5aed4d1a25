-- Locks the gates of a claim and says how much room each of them has. Part of claim_gated_v1.
-- Result: by scope and name ("tenant acme") an object: scope, name, room (how many may start now; 0: closed), why it is closed (paused |
-- cap | rate), bit (what a run counts for) and free (room under the cap) if there is a cap, limit, per_ms and how if there is a rate,
-- open_at (when a rate opens). Only gates that say something are in it.
-- Locks: meters of use start: queues, then kinds, then tenants, each by name.
-- Plan expected: a probe of gate per name, a range of job_counted_<scope> per cap.
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
  v_at     timestamptz;
  v_scope  text;
  v_names  text[];
  v_tenants text[] := array(select g.name from fairmill.gate g where g.scope = 'tenant' and g.name = any (tenants)
                            and (g.paused_at is not null or g.max_running is not null or g.rate_at = 'start'));
  v_kinds  text[] := array(select g.name from fairmill.gate g where g.scope = 'kind' and (kinds is null or g.name = any (kinds))
                           and (g.paused_at is not null or g.max_running is not null or g.rate_at = 'start'));
  v_queues text[] := array(select g.name from fairmill.gate g where g.scope = 'queue' and g.name = any (queues)
                           and (g.paused_at is not null or g.max_running is not null or g.rate_at = 'start'));
begin
  foreach v_scope in array array['queue', 'kind', 'tenant'] loop
    v_names := case v_scope when 'queue' then v_queues when 'kind' then v_kinds else v_tenants end;
    if cardinality(v_names) > 0 then
      perform fairmill.lock_meters_v1('start', v_scope, v_names);
    end if;
  end loop;

  v_at := clock_timestamp();
  return coalesce((
    select jsonb_object_agg(g.scope || ' ' || g.name, jsonb_strip_nulls(jsonb_build_object(
        'scope', g.scope, 'name', g.name,
        'room', case when g.paused_at is not null then 0 when coalesce(cap.free, rate.room) is not null then greatest(0, least(cap.free, rate.room)) end,
        'why', case when g.paused_at is not null then 'paused' when cap.free <= 0 then 'cap' when rate.room <= 0 then 'rate' end,
        'bit', case when g.max_running is not null then case g.scope when 'tenant' then 1 when 'queue' then 2 else 4 end end,
        'free', cap.free,
        'limit', case when g.rate_at = 'start' then g.rate_limit end, 'per_ms', case when g.rate_at = 'start' then g.rate_per_ms end,
        'how', case when g.rate_at = 'start' then g.rate_how end,
        'open_at', case when rate.room <= 0 then rate.open_at end)))
    from (select 'queue' as scope, u.name from unnest(v_queues) as u (name)
          union all select 'kind', u.name from unnest(v_kinds) as u (name)
          union all select 'tenant', u.name from unnest(v_tenants) as u (name)) own
    -- Read again under the locks: a limit that was changed meanwhile is changed.
    cross join lateral (select x.* from fairmill.gate x where x.scope = own.scope and x.name = own.name) g
    left join lateral (select g.max_running - case g.scope
        when 'tenant' then (select count(*) from fairmill.job j where j.counted & 1 = 1 and j.tenant = g.name)
        when 'queue' then (select count(*) from fairmill.job j where j.counted & 2 = 2 and j.queue = g.name)
        else (select count(*) from fairmill.job j where j.counted & 4 = 4 and j.kind = g.name) end as free
      where g.max_running is not null and g.paused_at is null offset 0) cap on true
    left join lateral (select r.room, r.open_at
        from fairmill.meter m cross join lateral fairmill.rate_room_v1(m.spent_at, m.spent, g.rate_limit, g.rate_per_ms, g.rate_how, v_at) r
        where g.rate_at = 'start' and g.paused_at is null and m.use = 'start' and m.scope = g.scope and m.name = g.name offset 0) rate on true), '{}');
end
$$;
