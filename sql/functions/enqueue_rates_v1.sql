-- Rates that are kept at enqueue: spends them for the jobs that fit, and names those that do not. Part of gates_at_enqueue_v1.
--   ns, queues, kinds, tenants, keys  the jobs: position, and under which names they may be limited (keys: limit_key or null)
--   partial                           false: if one does not fit, nothing is spent
--   refusals                          of those that something else refused already, by position, or null
-- Result: the refusals with those added that do not fit: what stood in the way and when a job may come again; null: all fit.
-- Locks: meters of use enqueue, by scope and name.
-- Plan expected: a probe of gate per name.
create or replace function fairmill.enqueue_rates_v1(ns integer[], queues text[], kinds text[], tenants text[], keys text[], partial boolean, refusals jsonb)
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
  v_gate     record;
  v_names    text[];
  v_room     record;
  v_meter    fairmill.meter;
  v_hit      integer[];
  v_at       timestamptz;
  v_refusals jsonb := coalesce(refusals, '{}');
  v_spend    jsonb := '[]';
  v_item     jsonb;
begin
  for v_gate in
    select g.scope, g.name, g.rate_limit, g.rate_per_ms, g.rate_how
    from (select 'queue' as scope, u.name from unnest(queues) as u (name)
          union select 'kind', u.name from unnest(kinds) as u (name)
          union select 'tenant', u.name from unnest(tenants) as u (name)) own
    cross join lateral (select x.* from fairmill.gate x where x.scope = own.scope and x.name = own.name and x.rate_at = 'enqueue' offset 0) g
    union all
    select 'key', used.key, r.rate_limit, r.rate_per_ms, r.rate_how
    from (select distinct u.key, u.kind from unnest(keys, kinds) as u (key, kind) where u.key is not null) used
    join fairmill.key_rule r on r.kind = used.kind and r.rate_at = 'enqueue'
    order by 1, 2
  loop
    perform fairmill.lock_meters_v1('enqueue', v_gate.scope, array[v_gate.name]);
    v_at := clock_timestamp();
    select * into v_meter from fairmill.meter m where m.use = 'enqueue' and m.scope = v_gate.scope and m.name = v_gate.name;
    select * into v_room from fairmill.rate_room_v1(v_meter.spent_at, v_meter.spent, v_gate.rate_limit, v_gate.rate_per_ms, v_gate.rate_how, v_at);
    v_names := case v_gate.scope when 'queue' then queues when 'kind' then kinds when 'tenant' then tenants else keys end;
    select array_agg(u.n order by u.n) into v_hit from unnest(ns, v_names) as u (n, name) where u.name = v_gate.name and not v_refusals ? u.n::text;
    if cardinality(v_hit) > v_room.room then
      -- Who must come all at once may when there is room for all. Of the others, the first that does not fit may come when something is
      -- given back, after those that fit have spent what is left.
      select r.open_at into v_room.open_at
      from (select s.* from fairmill.rate_spend_v1(v_meter.spent_at, v_meter.spent, v_gate.rate_limit, v_gate.rate_per_ms, v_gate.rate_how, v_at, v_room.room) s
            where partial and v_room.room > 0
            union all select v_meter.spent_at, v_meter.spent where not partial or v_room.room = 0) now
      cross join lateral fairmill.rate_room_v1(now.new_spent_at, now.new_spent, v_gate.rate_limit, v_gate.rate_per_ms, v_gate.rate_how, v_at,
        case when partial then 1 else cardinality(v_hit) end) r;
      select v_refusals || jsonb_object_agg(n::text, jsonb_build_object('code', 'FAIRMILL_RATE_LIMIT', 'scope', v_gate.scope, 'name', v_gate.name,
          'limit', v_gate.rate_limit, 'per_ms', v_gate.rate_per_ms, 'how', v_gate.rate_how, 'retry_at', v_room.open_at))
        into v_refusals from unnest(v_hit[v_room.room + 1 :]) as n;
    end if;
    v_spend := v_spend || jsonb_build_object('scope', v_gate.scope, 'name', v_gate.name, 'limit', v_gate.rate_limit, 'per', v_gate.rate_per_ms, 'how', v_gate.rate_how);
  end loop;
  if v_refusals <> '{}' and not partial then
    return v_refusals;
  end if;
  for v_item in select jsonb_array_elements(v_spend) loop
    v_names := case v_item ->> 'scope' when 'queue' then queues when 'kind' then kinds when 'tenant' then tenants else keys end;
    update fairmill.meter m set spent_at = s.new_spent_at, spent = s.new_spent, used_at = date_trunc('hour', v_at)
    from (select count(*)::integer as count from unnest(ns, v_names) as u (n, name) where u.name = v_item ->> 'name' and not v_refusals ? u.n::text) let_in
    cross join lateral fairmill.rate_spend_v1(
      (select x.spent_at from fairmill.meter x where x.use = 'enqueue' and x.scope = v_item ->> 'scope' and x.name = v_item ->> 'name'),
      (select x.spent from fairmill.meter x where x.use = 'enqueue' and x.scope = v_item ->> 'scope' and x.name = v_item ->> 'name'),
      (v_item ->> 'limit')::integer, (v_item ->> 'per')::bigint, v_item ->> 'how', v_at, let_in.count) s
    where m.use = 'enqueue' and m.scope = v_item ->> 'scope' and m.name = v_item ->> 'name' and let_in.count > 0;
  end loop;
  return nullif(v_refusals, '{}');
end
$$;
