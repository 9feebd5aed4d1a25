-- Jobs that wait for units of a limit and have a start time that is too late: those first in line for which there is
-- room now are due at once. Start times are hints, so this needs no lock of a meter: the claim asks again.
--   lines  limit and key as JSON; null: the first lines in which jobs wait, at most 100
-- Result: how many are due now.
-- Locks: 19 waiting job.
-- Plan expected: probes of job_waits_for, along the lines; of each line at most 20 jobs.
create or replace function fairmill.pull_waiting(lines text[] default null)
returns integer
language plpgsql
set enable_sort = off
as $$
#variable_conflict use_column
declare
  v_lines text[] := lines;
  v_line  text;
  v_at    timestamptz := clock_timestamp();
  v_job   record;
  v_left  jsonb;
  v_fits  boolean;
  v_due   tid[] := '{}';
begin
  if v_lines is null then
    -- From one line to the next by the index: however many jobs wait in each.
    v_lines := array(
      with recursive line (name, n) as (
        (select w.waits_for, 1 from fairmill.job w where w.aside = 'scheduled' and w.waits_for is not null
          order by w.waits_for limit 1)
        union all
        select (select w.waits_for from fairmill.job w where w.aside = 'scheduled' and w.waits_for > l.name
          order by w.waits_for limit 1), l.n + 1
        from line l where l.name is not null and l.n < 100)
      select l.name from line l where l.name is not null);
  end if;
  foreach v_line in array v_lines loop
    v_left := '{}';
    for v_job in
      select w.ctid as tid, w.uses from fairmill.job w
      where w.waits_for = v_line and w.aside = 'scheduled' and w.run_at > v_at
      order by w.waits_for, w.run_at limit 20 for update skip locked
    loop
      select v_left || jsonb_object_agg(m.meter, coalesce((v_left -> m.meter)::bigint, coalesce((
            select r.room from fairmill.meter x cross join lateral fairmill.unit_room(x.spent_at, x.spent, x.owed,
              m.max_units, m.per_ms, v_at, 0) r
            where x.use = 'start' and x.scope = 'limit' and x.name = m.meter), m.max_units)) - least(m.units,
              m.max_units))
        into v_left from fairmill.meters_of_uses(v_job.uses) m;
      v_fits := v_left is null or not jsonb_path_exists(v_left, '$.* ? (@ < 0)');
      exit when not v_fits;
      v_due := v_due || v_job.tid;
    end loop;
  end loop;
  if v_due = '{}' then
    return 0;
  end if;
  update fairmill.job j set run_at = v_at where j.ctid = any (v_due);
  perform fairmill.wake_v1(null, 0);
  return cardinality(v_due);
end
$$;
