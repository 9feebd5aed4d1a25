-- The rates of keys: who of these jobs may not start now is put back, scheduled for a moment of its own at which it may; it keeps its
-- attempt and its place, and is counted as throttled. For the others the rate is spent. Part of claim_gated_v1.
--   places  the candidates in the order of their turns, locked;  at: the moment of the claim, as far as it is known
-- Result: at, the moment under the locks; places, of those that may start; late, what the worker is told of the others, or null; spends, whether a rate was spent.
-- Most keys have room for all their jobs, and nobody waits: spend_keys_v1 is enough for them. The others are looked at one by one.
-- Moments are given one after the other, so that a thousand jobs of a key do not come back at once to be put back again. They are hints:
-- when a job comes back, the rate is asked again. Who comes back too early goes before all others that wait; newcomers queue up behind
-- them, and start at once only if nobody waits.
-- Locks: the meters of the keys, by name.
-- Plan expected: the jobs by their places; per key that has too little room a probe of meter and a backward probe of job_throttled.
create or replace function fairmill.key_rates_v1(places tid[], inout at timestamptz, out places_left tid[], out late jsonb, out spends boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_mergejoin = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_kind  record;
  v_names text[];
  v_spent text[] := '{}';  -- keys whose rate is spent
  v_tight jsonb := '{}';   -- the others
  v_late  tid[];
  v_due   timestamptz[];
begin
  at := clock_timestamp();
  -- Names begin with their kind, so that by the first name of each kind all of them are in order.
  for v_kind in
    select wanted.names, wanted.counts, r.rate_limit, r.rate_per_ms, r.rate_how
    from (select k.kind, array_agg(k.limit_key order by k.limit_key) as names, array_agg(k.count order by k.limit_key) as counts
          from (select j.kind, j.limit_key, count(*)::integer as count from fairmill.job j
                where j.ctid = any (places) and j.limit_key is not null group by j.kind, j.limit_key) k
          group by k.kind) wanted
    cross join lateral (select x.* from fairmill.key_rule x where x.kind = wanted.kind and x.rate_at = 'start' offset 0) r
    order by wanted.names[1]
  loop
    v_names := fairmill.spend_keys_v1(v_kind.names, v_kind.counts, v_kind.rate_limit, v_kind.rate_per_ms, v_kind.rate_how, at);
    v_spent := v_spent || v_names;
    if cardinality(v_names) < cardinality(v_kind.names) then
      v_names := array(select u.name from unnest(v_kind.names) as u (name) except select u.name from unnest(v_names) as u (name));
      v_tight := v_tight || jsonb_object(v_names, v_names);
    end if;
  end loop;
  spends := cardinality(v_spent) > 0;
  if v_tight = '{}' then
    places_left := places;
    return;
  end if;

  if clock_timestamp() >= at + interval '250 milliseconds' then
    -- The locks came late, and others may have forgotten what counted at the moment that was. All start at a new one; what was spent
    -- already is moved there.
    at := clock_timestamp();
    update fairmill.meter m set spent_at[cardinality(m.spent_at)] = slot.at
    from unnest(v_spent) as u (name)
    cross join lateral (select (fairmill.rate_spend_v1(null, null, r.rate_limit, r.rate_per_ms, r.rate_how, at, 1)).new_spent_at[1] as at
                        from fairmill.key_rule r where r.kind = u.name::jsonb ->> 0 offset 0) slot
    where m.use = 'start' and m.scope = 'key' and m.name = u.name and m.spent_at[cardinality(m.spent_at)] < slot.at;
  end if;

  -- Everything of a key in one row, found by probes from it: whatever is joined the other way round is quadratic. Of a key's jobs those
  -- that were put back before go first; who never was stands behind those that still wait.
  with wanted as materialized (
    select j.limit_key, array_agg(p.place order by j.put_back is not true, p.n) as places, count(*)::integer as count, count(*) filter (where j.put_back)::integer as again
    from unnest(places) with ordinality as p (place, n)
    cross join lateral (select x.kind, x.limit_key, x.put_back from fairmill.job x where x.ctid = p.place) j
    where v_tight ? j.limit_key
    group by j.limit_key),
  key as materialized (
    select w.places, w.count > starts.count or last.run_at is not null as waits, starts.count as starts, greatest(0, w.again - starts.count) as early, m.place as meter, m.waits as waited, after.new_spent_at, after.new_spent,
      next.open_at, last.run_at as last_at, r.step
    from wanted w
    -- A step is a little more than the rate asks for, because starts are a little late and are rounded up.
    cross join lateral (select x.*, x.rate_per_ms::float8 / x.rate_limit * 129 / 128 * interval '1 millisecond' as step
                        from fairmill.key_rule x where x.kind = w.limit_key::jsonb ->> 0 offset 0) r
    cross join lateral (select x.ctid as place, x.spent_at, x.spent, x.waits from fairmill.meter x where x.use = 'start' and x.scope = 'key' and x.name = w.limit_key offset 0) m
    left join lateral (select x.run_at from fairmill.job x where x.limit_key = w.limit_key and x.state = 'scheduled' and x.put_back
                       order by x.run_at desc limit 1) last on true
    cross join lateral fairmill.rate_room_v1(m.spent_at, m.spent, r.rate_limit, r.rate_per_ms, r.rate_how, at) now
    cross join lateral (select least(now.room, case when last.run_at is null then w.count else w.again end) as count offset 0) starts
    cross join lateral fairmill.rate_spend_v1(m.spent_at, m.spent, r.rate_limit, r.rate_per_ms, r.rate_how, at, starts.count) after
    cross join lateral fairmill.rate_room_v1(case when starts.count > 0 then after.new_spent_at else m.spent_at end,
      case when starts.count > 0 then after.new_spent else m.spent end, r.rate_limit, r.rate_per_ms, r.rate_how, at) next),
  spent as (
    update fairmill.meter m
    set spent_at = case when k.starts > 0 then k.new_spent_at else m.spent_at end, spent = case when k.starts > 0 then k.new_spent else m.spent end,
        waits = k.waits, used_at = date_trunc('hour', at)
    from key k where m.ctid = k.meter and (k.starts > 0 or k.waits <> k.waited))
  select array_agg(p.place) filter (where p.turn <= k.starts), array_agg(p.place) filter (where p.turn > k.starts),
         array_agg(case when p.turn - k.starts <= k.early then k.open_at + (p.turn - k.starts - 1) * k.step
                   else greatest(k.open_at + k.early * k.step, k.last_at + k.step) + (p.turn - k.starts - k.early - 1) * k.step end) filter (where p.turn > k.starts),
         spends or bool_or(k.starts > 0)
    into places_left, v_late, v_due, spends
  from key k cross join lateral unnest(k.places) with ordinality as p (place, turn);
  places_left := array(select j.ctid from fairmill.job j where j.ctid = any (places) and not coalesce(v_tight ? j.limit_key, false)) || coalesce(places_left, '{}');

  if v_late is not null then
    with put as (
      update fairmill.job j set state = 'scheduled', throttled = coalesce(j.throttled, 0) + 1, put_back = true, run_at = l.due_at
      from unnest(v_late, v_due) as l (place, due_at)
      where j.ctid = l.place
      returning j.priority, j.tenant, j.run_at)
    select jsonb_build_object('late', jsonb_agg(jsonb_build_array(lane.priority, lane.tenant, lane.count)),
                              'due_in_ms', greatest(0, extract(epoch from min(lane.due_at) - at)::float8 * 1000))
      into late
    from (select p.priority, p.tenant, count(*) as count, min(p.run_at) as due_at from put p group by p.priority, p.tenant) lane;
  end if;
end
$$;
