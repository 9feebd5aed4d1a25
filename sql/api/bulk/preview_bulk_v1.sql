-- What a bulk action would act on, without doing it: counted up to a bound, and grouped by state, kind and error code.
--   action, filter  as start_bulk_v1;  jobs_max: counts at most this many, and looks at ten times as many
--   after_id        begins behind this id
-- Result: how many fit, how many were looked at, the id to go on behind, whether there may be more; groups, largest
-- first; samples: the first ids, five at most.
-- Locks: none.
create or replace function fairmill.preview_bulk_v1(action text, filter jsonb, jobs_max integer default 1000,
  after_id bigint default 0, out fitting integer, out seen integer, out last_id bigint, out more boolean,
  out groups jsonb, out samples bigint[])
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_filter jsonb := case when action = 'redrive' and not filter ? 'states'
    then filter || '{"states": ["dead"]}' else filter end;
  v_ids    bigint[];
  v_ends   timestamptz[];
begin
  if fairmill.bulk_states(action) is null then
    raise exception 'there is no bulk action "%"', action using errcode = 'FM001',
      hint = 'Say cancel, retry, redrive or rerun.';
  end if;
  select p.ids, p.ends, p.seen, p.last_id, p.more into v_ids, v_ends, seen, last_id, more
  from fairmill.pick_jobs(
    fairmill.bulk_states(action), v_filter, jobs_max, 10 * jobs_max, after_id, 9223372036854775807) p;
  fitting := cardinality(v_ids);
  samples := v_ids[1:5];
  select coalesce(jsonb_agg(
      jsonb_build_object('state', g.state, 'kind', g.kind, 'error_code', g.code, 'count', g.n)
      order by g.n desc, g.kind), '[]')
    into groups
  from (
    select x.state, x.kind, x.code, count(*) as n from (
      select j.state, j.kind, null::text as code from unnest(v_ids) as picked (id)
      join fairmill.job j on j.id = picked.id where v_ends[1] is null
      union all
      select h.state, h.kind, h.error ->> 'code' from unnest(v_ids, v_ends) as picked (id, ended_at)
      join fairmill.job_history h on h.id = picked.id and h.ended_at = picked.ended_at) x
    group by x.state, x.kind, x.code order by n desc limit 100) g;
end
$$;
