-- Cancels live members of a batch and of everything inside it, a bounded number at a time: what waits ends, what runs
-- is notified.
-- Result: how many, and whether there are members left without a request: call again.
-- Locks: 8 job (those that are free), then as end_jobs, then as finish_transitions.
-- Plan expected: job_batch for each batch of the tree.
create or replace function fairmill.cancel_members_v1(batch_id bigint, jobs_max integer default 1000,
  out cancelled integer, out is_more boolean)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_all     bigint[] := fairmill.batches_within_v1(array[batch_id]);
  v_waiting bigint[];
  v_running bigint[];
  v_freed   text[];
  v_members jsonb;
begin
  with held as (
    select j.id, j.state from fairmill.job j
    where j.batch = any (v_all) and j.cancel_requested_at is null
    limit jobs_max for update skip locked)
  select coalesce(array_agg(h.id order by h.id) filter (where h.state <> 'running'), '{}'),
    coalesce(array_agg(h.id) filter (where h.state = 'running'), '{}')
    into v_waiting, v_running
  from held h;
  with told as (
    update fairmill.job j set cancel_requested_at = clock_timestamp() where j.id = any (v_running) returning j.worker)
  select null into v_freed
  from (select distinct told.worker from told) w
  cross join lateral pg_notify('fairmill', '!cancel ' || w.worker);
  select e.freed, e.members into v_freed, v_members
  from fairmill.end_jobs(v_waiting, array_fill('cancelled'::text, array[cardinality(v_waiting)])) e;
  cancelled := cardinality(v_waiting) + cardinality(v_running);
  is_more := exists (
    select from unnest(v_all) as b (id)
    cross join lateral (
      select j.id from fairmill.job j where j.batch = b.id and j.cancel_requested_at is null limit 1) j);
  perform fairmill.finish_transitions(null, v_freed, v_members);
end
$$;
