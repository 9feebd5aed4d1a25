-- The named limits of a claim: a job whose windows have not enough units left now is delayed, to a time at which they
-- may have; it keeps its attempt and its slot, and is counted in rate_limited_times. The others have room in all of
-- their windows at once; spend_units takes it. Part of claim_limited.
--   ctids  the candidates in the order of their turns, locked;  at: the time of the claim, as far as it is known
-- Result: at, the time under the locks; ctids_left, of those that may start; late, as rates_of_keys says it; uses,
-- whether one that is left uses a limit.
-- Jobs that wait for the same limit and key (their line) get start times one after the other, by what they take. They
-- are hints: when a job comes back, the windows are asked again. A job that was delayed before goes first; new ones
-- start at once only if none waits in their lines, so that a large one is not overtaken for ever by small ones.
-- Locks: none of job: the caller has 8 job; then 17 key meter.
-- Plan expected: the jobs by their ctids; per line a backward probe of job_waits_for; the meters by their names.
create or replace function fairmill.units_of_limits(ctids tid[], inout at timestamptz, out ctids_left tid[],
  out late jsonb, out uses boolean)
language plpgsql
set enable_sort = off
as $$
#variable_conflict use_column
declare
  v_meters text[];         -- of the windows, sorted, and beside each what is left of it
  v_room   bigint[];
  v_taken  bigint[];       -- by this claim
  v_lines  text[];         -- sorted; beside each the last start time of those that wait, of those that came early
  v_last   timestamptz[];
  v_early  timestamptz[];
  v_job    record;
  v_fits   boolean;
  v_due    timestamptz;
  v_step   interval;
  v_open   timestamptz;
  v_line   text;
  v_late   tid[] := '{}';
  v_dues   timestamptz[] := '{}';
  v_for    text[] := '{}';
begin
  uses := false;
  select array_agg(distinct m.meter collate "C" order by m.meter collate "C"),
      array_agg(distinct m.line collate "C" order by m.line collate "C")
    into v_meters, v_lines
  from fairmill.job j cross join lateral fairmill.meters_of_uses(j.uses) m
  where j.ctid = any (ctids) and j.uses is not null;
  if v_meters is null then
    ctids_left := ctids;
    return;
  end if;
  uses := true;
  perform fairmill.lock_meters('start', 'limit', v_meters, are_sorted => true);
  at := clock_timestamp();
  v_room := array_fill(null::bigint, array[cardinality(v_meters)]);
  v_taken := array_fill(0::bigint, array[cardinality(v_meters)]);
  v_early := array_fill(null::timestamptz, array[cardinality(v_lines)]);
  v_last := array(select (select w.run_at from fairmill.job w where w.waits_for = l.line and w.aside = 'scheduled'
      order by w.waits_for desc, w.run_at desc limit 1)
    from unnest(v_lines) with ordinality as l (line, n) order by l.n);

  for v_job in
    select p.tid, j.waits_for is not null as again, own.*
    from unnest(ctids) with ordinality as p (tid, n)
    cross join lateral (select x.uses, x.waits_for from fairmill.job x where x.ctid = p.tid) j
    cross join lateral (
      select array_agg(width_bucket(m.meter collate "C", v_meters)) as meters,
        array_agg(width_bucket(m.line collate "C", v_lines)) as lines, array_agg(least(m.units, m.max_units)) as units,
        array_agg(m.max_units) as most, array_agg(m.per_ms) as per_ms
      from fairmill.meters_of_uses(j.uses) m) own
    where j.uses is not null and own.meters is not null
    order by j.waits_for is null, p.n
  loop
    v_fits := true;
    for i in 1 .. cardinality(v_job.meters) loop
      if v_room[v_job.meters[i]] is null then
        v_room[v_job.meters[i]] := (select r.room from fairmill.meter m cross join lateral fairmill.unit_room(
          m.spent_at, m.spent, m.owed, v_job.most[i], v_job.per_ms[i], at, 0) r
          where m.use = 'start' and m.scope = 'limit' and m.name = v_meters[v_job.meters[i]]);
      end if;
      v_fits := v_fits and v_room[v_job.meters[i]] - v_taken[v_job.meters[i]] >= v_job.units[i]
        and (v_job.again or v_last[v_job.lines[i]] is null);
    end loop;
    if v_fits then
      for i in 1 .. cardinality(v_job.meters) loop
        v_taken[v_job.meters[i]] := v_taken[v_job.meters[i]] + v_job.units[i];
      end loop;
      continue;
    end if;
    v_due := at;
    v_line := null;
    for i in 1 .. cardinality(v_job.meters) loop
      -- A little more than the window asks for, because starts are a little late and are added up.
      v_step := v_job.per_ms[i]::float8 * v_job.units[i] / v_job.most[i] * 129 / 128 * interval '1 millisecond';
      select greatest(case when v_taken[v_job.meters[i]] + v_job.units[i] <= v_job.most[i] then r.open_at
            else at + v_job.per_ms[i] * interval '1 millisecond' end,
          case when v_job.again then v_early[v_job.lines[i]] else v_last[v_job.lines[i]] end + v_step)
        into v_open
      from fairmill.meter m cross join lateral fairmill.unit_room(m.spent_at, m.spent, m.owed, v_job.most[i],
        v_job.per_ms[i], at, v_taken[v_job.meters[i]] + v_job.units[i]) r
      where m.use = 'start' and m.scope = 'limit' and m.name = v_meters[v_job.meters[i]];
      if v_line is null or v_open > v_due then
        v_due := greatest(v_due, v_open);
        v_line := v_lines[v_job.lines[i]];
      end if;
    end loop;
    for i in 1 .. cardinality(v_job.lines) loop
      v_early[v_job.lines[i]] := greatest(v_early[v_job.lines[i]], case when v_job.again then v_due end);
      v_last[v_job.lines[i]] := greatest(v_last[v_job.lines[i]], v_due);
    end loop;
    v_late := v_late || v_job.tid;
    v_dues := v_dues || v_due;
    v_for := v_for || v_line;
  end loop;

  if v_late = '{}' then
    ctids_left := ctids;
    return;
  end if;
  ctids_left := array(select p.tid from unnest(ctids) with ordinality as p (tid, n) where p.tid <> all (v_late)
    order by p.n);
  with put as (
    update fairmill.job j set state = 'scheduled', aside = 'scheduled', waits_for = l.line, run_at = l.due_at,
      rate_limited_times = coalesce(j.rate_limited_times, 0) + 1
    from unnest(v_late, v_dues, v_for) as l (tid, due_at, line)
    where j.ctid = l.tid
    returning j.priority, j.tenant, j.run_at)
  select jsonb_build_object('late', jsonb_agg(jsonb_build_array(lane.priority, lane.tenant, lane.count)),
      'due_in_ms', greatest(0, extract(epoch from min(lane.due_at) - at)::float8 * 1000))
    into late
  from (select p.priority, p.tenant, count(*) as count, min(p.run_at) as due_at from put p
    group by p.priority, p.tenant) lane;
end
$$;
