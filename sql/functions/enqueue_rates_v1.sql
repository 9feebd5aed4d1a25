-- Rates that are kept at enqueue: spends them for the jobs that fit, and names those that do not. Part of gates_at_enqueue_v1.
--   ns, queues, kinds, tenants, keys  the jobs: position, and under which names they may be limited (keys: limit_key or null)
--   partial                           false: if one does not fit, nothing is spent
--   refusals                          of those that something else refused already, by position, or null
-- Result: the refusals with those added that do not fit: what stood in the way and when a job may come again; null: all fit. Who must come
-- all at once and are more than a rate ever lets in are told no moment: there is none.
--  1. Find the rates, each with the jobs that come under it, and lock their meters.
--  2. Ask one rate after the other: who is refused takes no room of the next.
--  3. Spend each of them for those that nobody refused.
-- Locks: meters of use enqueue, by scope and name.
-- Plan expected: a probe of gate per name; then of each rate its meter. Linear in the jobs, however many names they have.
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
  v_rates   jsonb;      -- scope, name, ns (its jobs), limit, per, how of each
  v_scope   text;
  v_rate    record;
  v_room    record;
  v_open_at timestamptz;
  v_most    integer;    -- so many may come at once
  v_never   boolean;
  v_hit     integer[];  -- of its jobs those that nobody has refused yet
  v_n       integer;
  v_is_out  boolean[];  -- by position: refused
  v_new     jsonb[];    -- refusals, by position in v_new_ns
  v_new_ns  text[];
  v_at      timestamptz;
begin
  select jsonb_agg(jsonb_build_object('scope', r.scope, 'name', r.name, 'ns', r.ns, 'limit', r.rate_limit, 'per', r.rate_per_ms, 'how', r.rate_how)
           order by r.scope, r.name collate "C")
    into v_rates
  from (
    select own.scope, own.name, own.ns, g.rate_limit, g.rate_per_ms, g.rate_how
    from (select o.scope, o.name, array_agg(o.n) as ns
          from (select 'queue' as scope, u.name, u.n from unnest(queues, ns) as u (name, n)
                union all select 'kind', u.name, u.n from unnest(kinds, ns) as u (name, n)
                union all select 'tenant', u.name, u.n from unnest(tenants, ns) as u (name, n)) o
          group by o.scope, o.name) own
    cross join lateral (select x.* from fairmill.gate x where x.scope = own.scope and x.name = own.name and x.rate_at = 'enqueue' offset 0) g
    union all
    select 'key', used.key, used.ns, rule.rate_limit, rule.rate_per_ms, rule.rate_how
    from (select u.key, u.kind, array_agg(u.n) as ns from unnest(keys, kinds, ns) as u (key, kind, n) where u.key is not null group by u.key, u.kind) used
    cross join lateral (select x.* from fairmill.rule_in_force x where x.kind = used.kind and x.rate_at = 'enqueue' offset 0) rule) r;
  if v_rates is null then
    return refusals;
  end if;
  foreach v_scope in array array['key', 'kind', 'queue', 'tenant'] loop
    if jsonb_path_exists(v_rates, '$[*] ? (@.scope == $scope)', jsonb_build_object('scope', v_scope)) then
      perform fairmill.lock_meters_v1('enqueue', v_scope, array(
        select r ->> 'name' from jsonb_array_elements(v_rates) as r where r ->> 'scope' = v_scope));
    end if;
  end loop;
  v_at := clock_timestamp();

  v_is_out := array_fill(false, array[(select max(n) from unnest(ns) as n)]);
  for v_n in select o.n::integer from jsonb_object_keys(refusals) as o (n) loop
    v_is_out[v_n] := true;
  end loop;
  for v_rate in
    select r.*, m.spent_at, m.spent
    from rows from (jsonb_to_recordset(v_rates) as (scope text, name text, ns integer[], "limit" integer, per bigint, how text)) with ordinality
      as r (scope, name, ns, rate_limit, per_ms, how, turn)
    left join lateral (select x.spent_at, x.spent from fairmill.meter x where x.use = 'enqueue' and x.scope = r.scope and x.name = r.name offset 0) m on true
    order by r.turn
  loop
    select * into v_room from fairmill.rate_room_v1(v_rate.spent_at, v_rate.spent, v_rate.rate_limit, v_rate.per_ms, v_rate.how, v_at);
    v_most := case when v_rate.how = 'uniform' then 1 else v_rate.rate_limit end;
    v_never := not partial and cardinality(v_rate.ns) > v_most;
    v_hit := array(select u.n from unnest(v_rate.ns) as u (n) where v_never or not v_is_out[u.n] order by u.n);
    if v_never then
      -- What others said is of no use then: nobody shall come back for it.
      v_room.room := v_most;
      v_new := null;
      v_new_ns := null;
    end if;
    continue when cardinality(v_hit) <= v_room.room;
    -- Who must come all at once may when there is room for all. Of the others, the first that does not fit may come when something is
    -- given back, after those that fit have spent what is left.
    select r.open_at into v_open_at
    from (select s.* from fairmill.rate_spend_v1(v_rate.spent_at, v_rate.spent, v_rate.rate_limit, v_rate.per_ms, v_rate.how, v_at, v_room.room) s
          where partial and v_room.room > 0
          union all select v_rate.spent_at, v_rate.spent where not partial or v_room.room = 0) now
    cross join lateral fairmill.rate_room_v1(now.new_spent_at, now.new_spent, v_rate.rate_limit, v_rate.per_ms, v_rate.how, v_at,
      case when partial then 1 else cardinality(v_hit) end) r
    where not v_never;
    foreach v_n in array v_hit[v_room.room + 1 :] loop
      v_is_out[v_n] := true;
      v_new_ns := v_new_ns || v_n::text;
      v_new := v_new || jsonb_strip_nulls(jsonb_build_object('code', 'FAIRMILL_RATE_LIMIT', 'scope', v_rate.scope, 'name', v_rate.name,
        'limit', v_rate.rate_limit, 'per_ms', v_rate.per_ms, 'how', v_rate.how, 'retry_at', v_open_at));
    end loop;
    exit when v_never;
  end loop;
  if v_new is not null then
    refusals := coalesce(refusals, '{}') || (select jsonb_object_agg(o.n, o.refusal) from unnest(v_new_ns, v_new) as o (n, refusal));
  end if;
  if refusals is not null and not partial then
    return refusals;
  end if;

  update fairmill.meter m set spent_at = s.new_spent_at, spent = s.new_spent, used_at = date_trunc('hour', v_at)
  from (select r.*, (select count(*)::integer from unnest(r.ns) as u (n) where not v_is_out[u.n]) as count
        from jsonb_to_recordset(v_rates) as r (scope text, name text, ns integer[], "limit" integer, per bigint, how text) offset 0) let_in
  cross join lateral (select x.ctid, x.spent_at, x.spent from fairmill.meter x where x.use = 'enqueue' and x.scope = let_in.scope and x.name = let_in.name offset 0) was
  cross join lateral fairmill.rate_spend_v1(was.spent_at, was.spent, let_in."limit", let_in.per, let_in.how, v_at, let_in.count) s
  where m.ctid = was.ctid and let_in.count > 0;
  return refusals;
end
$$;
