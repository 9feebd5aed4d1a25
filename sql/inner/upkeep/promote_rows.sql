-- The rows of promote_v1: moves due jobs on. The caller calls finish_transitions with queues and keys as its last step.
-- Locks: 8 job (those that are free), then as admit_due.
-- Plan expected: a range of job_scheduled up to now, then the rows by the primary key.
create or replace function fairmill.promote_rows(jobs_max integer,
  out promoted integer, out queues text[], out keys text[])
language plpgsql
as $$
#variable_conflict use_column
declare
  v_at  timestamptz := clock_timestamp();  -- a value, because a volatile function cannot bound a range of an index
  v_due bigint[];
begin
  v_due := array(
    select s.id from fairmill.job s
    where s.aside = 'scheduled' and s.run_at <= v_at
    order by s.run_at, s.id limit jobs_max for update skip locked);
  promoted := cardinality(v_due);
  if promoted > 0 then
    select a.queues, a.keys into queues, keys from fairmill.admit_due(v_due) a;
  end if;
end
$$;
