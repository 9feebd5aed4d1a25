-- The rates of keys: a job that may not start now becomes rate-limited: scheduled for a time of its own at which it
-- may; it keeps its attempt and its slot, and is counted in rate_limited_times. For the others the rate is spent. Part
-- of claim_limited.
--   ctids  the candidates in the order of their turns, locked;  at: the time of the claim, as far as it is known
-- Result: at, the time under the locks; ctids_left, of those that may start; late, what the worker learns about the
-- others, or null; spends, whether a rate was spent.
-- Most keys have room for all their jobs, and no job waits: spend_key_rates is enough for them. The others are looked
-- at one by one.
-- Start times are given one after the other, so that a thousand jobs of a key do not come back at once to be
-- rate-limited again. They are hints:
-- when a job comes back, the rate is asked again. A job that comes back too early goes before all others that wait; new
-- jobs queue up behind them, and start at once only if no job waits.
-- Locks: 8 job (the caller has them), 17 key meter.
-- Plan expected: the jobs by their ctids; a look at job_rate_limited for all keys; per key that has too little room a
-- probe of meter and a backward probe of job_rate_limited.
create or replace function fairmill.rates_of_keys(ctids tid[], inout at timestamptz, out ctids_left tid[],
  out late jsonb, out spends boolean)
language plpgsql
set enable_sort = off
as $$
#variable_conflict use_column
declare
  v_names  text[];         -- the keys, sorted, and beside each its kind and how many of its jobs want to start
  v_kinds  text[];
  v_counts integer[];
  v_meters tid[];          -- where their meters stand, if that is known
  v_group  record;
  v_waits  jsonb := '{}';  -- keys with a waiting job
  v_tight  jsonb;          -- these, and those that have too little room
  v_left   text[];
  v_late   tid[];
  v_due    timestamptz[];
begin
  spends := false;
  select array_agg(k.limit_key), array_agg(k.kind), array_agg(k.count) into v_names, v_kinds, v_counts
  from (select j.limit_key, j.kind, count(*)::integer as count from fairmill.job j
        -- "is true" keeps the rules from being joined: they are looked up in a table made once.
        where j.ctid = any (ctids) and j.limit_key is not null
          and (j.kind in (select r.kind from fairmill.key_limit r where r.rate_at = 'start')) is true
        group by j.limit_key, j.kind order by j.limit_key) k;
  if v_names is null then
    ctids_left := ctids;
    return;
  end if;
  v_meters := fairmill.lock_meters('start', 'key', v_names, are_sorted => true);
  -- Later than all that was spent under these locks before: a session that had them meanwhile dropped what no longer
  -- counted at its time.
  at := clock_timestamp();

  -- Said with an order that no other index has: statistics cannot talk the planner out of job_rate_limited.
  if (select j.limit_key from fairmill.job j where j.limit_key = any (v_names) and j.aside = 'scheduled'
    and j.rate_limited order by j.limit_key limit 1) is not null then
    select coalesce(jsonb_object_agg(u.name, true), '{}') into v_waits from unnest(v_names) as u (name)
    cross join lateral (select x.run_at from fairmill.job x where x.limit_key = u.name and x.aside = 'scheduled'
      and x.rate_limited
                        order by x.run_at desc limit 1) waits;
  end if;
  v_tight := v_waits;
  for v_group in
    select w.names, w.meters, w.count, r.rate_limit, r.rate_per_ms, r.rate_how
    from (
      -- Of one kind, and of each as many: then nothing is to be sorted out.
      select v_kinds[1] as kind, v_counts[1] as count, v_names as names, v_meters as meters
      where v_waits = '{}' and v_kinds <@ v_kinds[1:1] and v_counts <@ v_counts[1:1]
      union all
      select u.kind, u.count, array_agg(u.name), case when v_meters is not null then array_agg(u.meter) end
      from unnest(v_names, v_kinds, v_counts, v_meters) as u (name, kind, count, meter)
      where not (v_waits = '{}' and v_kinds <@ v_kinds[1:1] and v_counts <@ v_counts[1:1]) and not v_waits ? u.name
      group by u.kind, u.count) w
    cross join lateral (select x.* from fairmill.key_limit x where x.kind = w.kind and x.rate_at = 'start' offset 0) r
  loop
    v_left := fairmill.spend_key_rates(v_group.names, v_group.meters, v_group.count, v_group.rate_limit,
      v_group.rate_per_ms, v_group.rate_how, at);
    if v_left <> '{}' then
      v_tight := v_tight || jsonb_object(v_left, v_left);
    end if;
    spends := spends or cardinality(v_left) < cardinality(v_group.names);
  end loop;
  if v_tight = '{}' then
    ctids_left := ctids;
    return;
  end if;

  -- Everything of a key in one row, found by probes from it: whatever is joined the other way round is quadratic. Of a
  -- key's jobs the rate-limited ones go first; a job that never was goes behind those that still wait.
  with wanted as materialized (
    select j.limit_key, array_agg(p.tid order by j.rate_limited is not true, p.n) as tids, count(*)::integer as count,
      count(*) filter (where j.rate_limited)::integer as again
    from unnest(ctids) with ordinality as p (tid, n)
    cross join lateral (select x.kind, x.limit_key, x.rate_limited from fairmill.job x where x.ctid = p.tid) j
    where v_tight ? j.limit_key
    group by j.limit_key),
  key as materialized (
    select w.tids, starts.count as starts, greatest(0, w.again - starts.count) as early, m.tid as meter,
      after.new_spent_at, after.new_spent,
      next.open_at, last.run_at as last_at, r.step
    from wanted w
    -- Where the rate was taken away meanwhile, its jobs stay ready, for the next claim.
    -- A step is a little more than the rate asks for, because starts are a little late and are added up.
    cross join lateral (select x.*, x.rate_per_ms::float8 / x.rate_limit * 129 / 128 * interval '1 millisecond' as step
                        from fairmill.key_limit x where x.kind = w.limit_key::jsonb ->> 0
                          and x.rate_at = 'start' offset 0) r
    cross join lateral (select x.ctid as tid, x.spent_at, x.spent from fairmill.meter x where x.use = 'start'
      -- Backwards, as in lock_meters.
      and x.scope = 'key' and x.name <= w.limit_key and x.name >= w.limit_key order by x.name desc limit 1) m
    left join lateral (select x.run_at from fairmill.job x where x.limit_key = w.limit_key and x.aside = 'scheduled'
      and x.rate_limited
                       order by x.run_at desc limit 1) last on true
    cross join lateral fairmill.rate_room(m.spent_at, m.spent, r.rate_limit, r.rate_per_ms, r.rate_how, at) now
    cross join lateral (select least(now.room, case when last.run_at is null then w.count else w.again end) as count
      offset 0) starts
    cross join lateral fairmill.rate_spend(m.spent_at, m.spent, r.rate_limit, r.rate_per_ms, r.rate_how, at,
      starts.count) after
    cross join lateral fairmill.rate_room(case when starts.count > 0 then after.new_spent_at else m.spent_at end,
      case when starts.count > 0 then after.new_spent else m.spent end, r.rate_limit, r.rate_per_ms, r.rate_how,
        at) next),
  spent as (
    update fairmill.meter m set spent_at = k.new_spent_at, spent = k.new_spent, used_at = date_trunc('hour', at)
    from key k where m.ctid = k.meter and k.starts > 0)
  select array_agg(p.tid) filter (where p.turn <= k.starts), array_agg(p.tid) filter (where p.turn > k.starts),
         array_agg(case when p.turn - k.starts <= k.early then k.open_at + (p.turn - k.starts - 1) * k.step
                   else greatest(k.open_at + k.early * k.step,
                     k.last_at + k.step) + (p.turn - k.starts - k.early - 1) * k.step end)
                     filter (where p.turn > k.starts),
         spends or bool_or(k.starts > 0)
    into ctids_left, v_late, v_due, spends
  from key k cross join lateral unnest(k.tids) with ordinality as p (tid, turn);
  ctids_left := array(select j.ctid from fairmill.job j where j.ctid = any (ctids)
    and not coalesce(v_tight ? j.limit_key, false)) || coalesce(ctids_left, '{}');

  if v_late is not null then
    with put as (
      update fairmill.job j set state = 'scheduled', aside = 'scheduled',
        rate_limited_times = coalesce(j.rate_limited_times, 0) + 1, rate_limited = true, run_at = l.due_at
      from unnest(v_late, v_due) as l (tid, due_at)
      where j.ctid = l.tid
      returning j.priority, j.tenant, j.run_at)
    select jsonb_build_object('late', jsonb_agg(jsonb_build_array(lane.priority, lane.tenant, lane.count)),
                              'due_in_ms', greatest(0, extract(epoch from min(lane.due_at) - at)::float8 * 1000))
      into late
    from (select p.priority, p.tenant, count(*) as count, min(p.run_at) as due_at from put p group by p.priority,
      p.tenant) lane;
  end if;
end
$$;
