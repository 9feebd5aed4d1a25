-- Locks the limits of a claim and says how much room each of them has. Part of claim_limited.
-- Result: by scope and name ("tenant acme") an object: scope, name, room (how many may start now; 0: closed), why it is
-- closed (paused | cap | rate), free (room under the cap) if there is a cap, limit, per_ms and how if there is a rate,
-- open_at (when a rate opens, or a pause ends). Only limits that say something are in it.
--   quanta         beside tenants: how many are wanted of each;  jobs_max: how many in all
--   despite_pause  pauses hold nothing back; all other limits do
-- What runs under a cap is in the list of its meter, with some that have ended since. Where the list leaves more room
-- than is wanted, the list is not checked; otherwise it is compacted to the jobs that still run.
-- Locks: 5 limit meter.
-- Plan expected: a probe of limit_setting and of meter per name, and the listed jobs by the primary key. Each limit is
-- asked for by its name (offset 0), whatever the statistics say: from the side of the limits it would be a walk along
-- all names for every limit there is.
create or replace function fairmill.room_of_limits(queues text[], kinds text[], tenants text[], quanta integer[],
  jobs_max integer, despite_pause boolean default false)
returns jsonb
language plpgsql
set enable_sort = off
as $$
#variable_conflict use_column
declare
  v_at     timestamptz;
  v_scope  text;
  v_list   record;
  v_wanted jsonb := (select jsonb_object_agg(w.name, w.count) from (
    select t.name, sum(t.quantum) as count from unnest(tenants, quanta) as t (name, quantum) group by t.name) w);
  v_names  text[];
  v_tenants text[] := array(select g.name from (select distinct t.name from unnest(tenants) as t (name)) own
    cross join lateral (select x.name from fairmill.limit_setting x where x.scope = 'tenant' and x.name = own.name
                          and (x.paused_at is not null or x.max_running is not null or x.rate_at = 'start')
                            offset 0) g);
  -- Without names: all kinds that have a limit.
  v_kinds  text[] := array(select g.name from (select u.name from unnest(kinds) as u (name)
                                               union all select x.name from fairmill.limit_setting x where kinds is null
                                                 and x.scope = 'kind') own
    cross join lateral (select x.name from fairmill.limit_setting x where x.scope = 'kind' and x.name = own.name
                          and (x.paused_at is not null or x.max_running is not null or x.rate_at = 'start')
                            offset 0) g);
  v_queues text[] := array(select g.name from (select distinct q.name from unnest(queues) as q (name)) own
    cross join lateral (select x.name from fairmill.limit_setting x where x.scope = 'queue' and x.name = own.name
                          and (x.paused_at is not null or x.max_running is not null or x.rate_at = 'start')
                            offset 0) g);
begin
  foreach v_scope in array array['queue', 'kind', 'tenant'] loop
    v_names := case v_scope when 'queue' then v_queues when 'kind' then v_kinds else v_tenants end;
    if cardinality(v_names) > 0 then
      perform fairmill.lock_meters('start', v_scope, v_names);
    end if;
  end loop;

  for v_list in
    select m.tid, kept.ids
    from (select 'queue' as scope, u.name from unnest(v_queues) as u (name)
          union all select 'kind', u.name from unnest(v_kinds) as u (name)
          union all select 'tenant', u.name from unnest(v_tenants) as u (name)) own
    cross join lateral (select x.scope, x.name, x.max_running from fairmill.limit_setting x where x.scope = own.scope
      and x.name = own.name and x.max_running is not null offset 0) g
    -- Backwards, as in lock_meters; here and below.
    cross join lateral (select y.tid, y.running_ids
      from (select x.ctid as tid, x.running_ids from fairmill.meter x where x.use = 'start' and x.scope = g.scope
        and x.name <= g.name and x.name >= g.name order by x.name desc limit 1) y
      where g.max_running - cardinality(y.running_ids) <= case g.scope when 'tenant'
        then (v_wanted -> g.name)::integer else jobs_max end offset 0) m
    cross join lateral (select array(select j.id from fairmill.job j where j.id = any (m.running_ids)
      and j.state = 'running') as ids offset 0) kept
    where cardinality(kept.ids) < cardinality(m.running_ids)
  loop
    update fairmill.meter m set running_ids = v_list.ids where m.ctid = v_list.tid;
  end loop;

  v_at := clock_timestamp();
  return coalesce((
    select jsonb_object_agg(g.scope || ' ' || g.name, jsonb_strip_nulls(jsonb_build_object(
        'scope', g.scope, 'name', g.name,
        'room', case when pause.holds then 0 when coalesce(cap.free, rate.room) is not null
          then greatest(0, least(cap.free, rate.room)) end,
        'why', case when pause.holds then 'paused' when cap.free <= 0 then 'cap' when rate.room <= 0
          then 'rate' end,
        'free', cap.free,
        'limit', case when g.rate_at = 'start' then g.rate_limit end, 'per_ms', case when g.rate_at = 'start'
          then g.rate_per_ms end,
        'how', case when g.rate_at = 'start' then g.rate_how end,
        'open_at', case when rate.room <= 0 then rate.open_at else g.paused_until end)))
    from (select 'queue' as scope, u.name from unnest(v_queues) as u (name)
          union all select 'kind', u.name from unnest(v_kinds) as u (name)
          union all select 'tenant', u.name from unnest(v_tenants) as u (name)) own
    -- Read again under the locks: a limit that was changed meanwhile is changed.
    cross join lateral (select x.* from fairmill.limit_in_force x where x.scope = own.scope
      and x.name = own.name offset 0) g
    cross join lateral (select g.paused_at is not null and not despite_pause as holds) pause
    left join lateral (select x.running_ids, x.spent_at, x.spent from fairmill.meter x where x.use = 'start'
      and x.scope = g.scope and x.name <= g.name and x.name >= g.name order by x.name desc limit 1) m on true
    left join lateral (select g.max_running - coalesce(cardinality(m.running_ids), 0) as free
      where g.max_running is not null and not pause.holds) cap on true
    left join lateral (select r.room, r.open_at
      from fairmill.rate_room(m.spent_at, m.spent, g.rate_limit, g.rate_per_ms, g.rate_how, v_at) r
        where g.rate_at = 'start' and not pause.holds offset 0) rate on true), '{}');
end
$$;
