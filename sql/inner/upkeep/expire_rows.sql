-- The rows of expire_v1: ends jobs that waited longer than their time to live. The caller calls finish_transitions with
-- keys and members as its last step.
-- Locks: 8 job (those that are free), then as end_jobs.
-- Plan expected: a range of job_expiring up to now, then the rows by the primary key.
create or replace function fairmill.expire_rows(jobs_max integer,
  out expired integer, out keys text[], out members jsonb)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_at      timestamptz := clock_timestamp();  -- a value, because a volatile function cannot bound a range of an index
  v_ids     bigint[];
  v_states  text[];
  v_details jsonb;
begin
  with over as (
    select j.id from fairmill.job j
    where j.expire_at is not null and j.state <> 'running' and j.expire_at <= v_at
    order by j.expire_at, j.id limit jobs_max for update skip locked)
  select array_agg(o.id order by o.id), array_agg('dead'::text),
    jsonb_agg(jsonb_build_object('error', jsonb_build_object(
      'code', 'FAIRMILL_EXPIRED', 'message', 'The job waited longer than its time to live.')))
    into v_ids, v_states, v_details
  from over o;
  select e.ended, e.freed, e.members into expired, keys, members from fairmill.end_jobs(v_ids, v_states, v_details) e;
end
$$;
