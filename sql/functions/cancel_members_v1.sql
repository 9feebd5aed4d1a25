-- Cancels live members of a batch and of everything inside it, a bounded number at a time: what waits ends, what runs is told.
-- Result: how many, and whether there are members left that were not told: call again.
-- Locks: those jobs (others' are skipped), then as pass_on_v1.
-- Plan expected: job_batch for each batch of the tree.
create or replace function fairmill.cancel_members_v1(batch_id bigint, jobs_max integer default 1000, out cancelled integer, out is_more boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_all     bigint[] := fairmill.trees_below_v1(array[batch_id]);
  v_waiting bigint[];
  v_running bigint[];
  v_freed   text[];
  v_members jsonb;
begin
  with held as (
    select j.id, j.state from fairmill.job j where j.batch = any (v_all) and j.cancel_requested_at is null limit jobs_max for update skip locked)
  select coalesce(array_agg(h.id) filter (where h.state <> 'running'), '{}'), coalesce(array_agg(h.id) filter (where h.state = 'running'), '{}')
    into v_waiting, v_running from held h;
  with told as (
    update fairmill.job j set cancel_requested_at = clock_timestamp() where j.id = any (v_running) returning j.worker)
  select null into v_freed from (select distinct told.worker from told) w cross join lateral pg_notify('fairmill', '!cancel ' || w.worker);
  select e.freed, e.members into v_freed, v_members from fairmill.end_jobs_v1(v_waiting, 'cancelled', null) e;
  cancelled := cardinality(v_waiting) + cardinality(v_running);
  is_more := exists (select from unnest(v_all) as b (id)
    cross join lateral (select j.id from fairmill.job j where j.batch = b.id and j.cancel_requested_at is null limit 1) j);
  perform fairmill.pass_on_v1(null, v_freed, v_members);
end
$$;
