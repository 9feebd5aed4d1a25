-- Checks what new jobs use of named limits. A job that asks for more than a window ever holds is refused: it would
-- never start.
--   jobs  as parse_jobs read them; uses of each null or [{"limit", "key", "units": {…}}, …]
-- Result: the jobs, with the refusals.
-- Plan expected: a probe of named_limit_order per use.
create or replace function fairmill.check_uses(jobs fairmill.new_job[])
returns fairmill.new_job[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_odd record;
begin
  select c.use, c.reason into v_odd
  from (
    select u.use, case
      when jsonb_typeof(u.use) <> 'object' or jsonb_typeof(u.use -> 'limit') is distinct from 'string'
        or jsonb_typeof(u.use -> 'key') is distinct from 'string'
        or jsonb_typeof(coalesce(u.use -> 'units', '{}')) <> 'object' then 'name limit, key and units of each'
      when octet_length(u.use ->> 'key') > 500 then 'a key has more than 500 bytes: pass a digest of it'
      when fairmill.windows_in_force(u.use ->> 'limit') is null
        then 'no limit is called "' || (u.use ->> 'limit') || '": define it with define_limit_v1'
      when u.times > 1 then 'the limit "' || (u.use ->> 'limit') || '" is used twice'
      when exists (select from jsonb_each(u.use -> 'units') as e (name, value)
        where case when jsonb_typeof(e.value) = 'number' then e.value::numeric <> trunc(e.value::numeric)
          or e.value::numeric not between 0 and 1000000000 else true end)
        then 'units are whole numbers from 0 to 1000000000'
      when exists (select from jsonb_object_keys(u.use -> 'units') as k (name)
        where not jsonb_path_exists(fairmill.windows_in_force(u.use ->> 'limit'), '$[*] ? (@.unit == $unit)',
          jsonb_build_object('unit', k.name))) then 'the limit "' || (u.use ->> 'limit') || '" has no such unit'
      end as reason
    from (select e.use, count(*) over (partition by j.n, e.use -> 'limit') as times
          from unnest(jobs) as j
          cross join lateral jsonb_array_elements(case when jsonb_typeof(j.uses) = 'array' then j.uses
            else jsonb_build_array(j.uses) end) as e (use)
          where j.uses is not null) u) c
  where c.reason is not null limit 1;
  if found then
    raise exception 'uses: %', v_odd.reason using errcode = 'FM001', detail = v_odd.use::text,
      hint = 'For example [{"limit": "openai", "key": "", "units": {"tokens": 1500}}].';
  end if;
  for v_odd in
    select distinct on (j.n) j.n, m.* from unnest(jobs) as j
    cross join lateral fairmill.meters_of_uses(j.uses) m
    where j.uses is not null and j.conflict is null and j.refusal is null and m.units > m.max_units
    order by j.n, m.meter
  loop
    jobs[v_odd.n].refusal := jsonb_build_object('code', 'FAIRMILL_OVER_LIMIT', 'limit', v_odd.meter::jsonb -> 0,
      'key', v_odd.meter::jsonb -> 1, 'unit', v_odd.unit, 'asked', v_odd.units, 'most', v_odd.max_units,
      'per_ms', v_odd.per_ms);
  end loop;
  return jobs;
end
$$;
