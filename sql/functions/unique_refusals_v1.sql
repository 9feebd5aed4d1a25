-- Which jobs of an array would be refused because their unique key is another job's: asked before anything is stored, where one refusal
-- means that nothing is. Part of enqueue_many_v1.
--   created  null, or false for jobs that exist already
-- Result: the refusals by position, or null. What is taken between this look and the insert makes the insert fail (40001).
-- Plan expected: a probe of job_unique and of unique_period per job.
create or replace function fairmill.unique_refusals_v1(jobs jsonb, shared jsonb, created boolean[])
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
begin
  return (
    select jsonb_object_agg(given.n::text, jsonb_build_object('code', 'FAIRMILL_DUPLICATE_JOB', 'kind', given.kind, 'job_id', holder.id::text))
    from (select e.n, coalesce(e.job ->> 'tenant', shared ->> 'tenant', 'default') as tenant, coalesce(e.job ->> 'kind', shared ->> 'kind') as kind,
            e.job ->> 'unique_key' as key, coalesce(e.job ->> 'unique_for_ms', shared ->> 'unique_for_ms') is not null as is_for,
            row_number() over (partition by coalesce(e.job ->> 'tenant', shared ->> 'tenant', 'default'), coalesce(e.job ->> 'kind', shared ->> 'kind'), e.job ->> 'unique_key' order by e.n) as turn,
            coalesce(e.job ->> 'on_conflict', shared ->> 'on_conflict') as on_conflict
          from jsonb_array_elements(jobs) with ordinality as e (job, n)
          where e.job ->> 'unique_key' is not null and (created is null or created[e.n])) given
    left join lateral (
      select j.id from fairmill.job j
      where not given.is_for and j.tenant = given.tenant and j.kind = given.kind and j.unique_key = given.key
      union all
      select p.job_id from fairmill.unique_period p
      where given.is_for and p.tenant = given.tenant and p.kind = given.kind and p.key = given.key and p.expires_at > clock_timestamp()
      limit 1) holder on true
    -- A second one in the same call has the first in its way.
    where given.on_conflict = 'refuse' and (holder.id is not null or given.turn > 1));
end
$$;
