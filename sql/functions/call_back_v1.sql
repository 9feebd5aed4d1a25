-- Enqueues a callback of each of these batches, as a member of the batch around it (unless that is being cancelled: it takes no more), and
-- notes its job: that is why there is never a second one.
--   event  success | complete | death;  the caller has the trees' locks and knows that the callback is due
-- Plan expected: the primary key of batch.
create or replace function fairmill.call_back_v1(batches bigint[], event text)
returns void
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
  v_due  bigint[];
  v_jobs jsonb;
  v_ids  bigint[];
  v_made jsonb;      -- by batch the job
begin
  select array_agg(b.id order by b.id), jsonb_agg(b.callbacks -> event || case when around.id is null then '{}' else jsonb_build_object('batch', around.id) end order by b.id)
    into v_due, v_jobs
  from fairmill.batch b
  left join lateral (select p.id from fairmill.batch p where p.id = b.parent and p.cancel_requested_at is null offset 0) around on true
  where b.id = any (batches) and b.callbacks ? event
    and case event when 'success' then b.success_job when 'complete' then b.complete_job else b.death_job end is null;
  if v_due is null then
    return;
  end if;
  v_ids := fairmill.enqueue_surely_v1(v_jobs);
  select jsonb_object_agg(given.id::text, given.job_id) into v_made from unnest(v_due, v_ids) as given (id, job_id);
  update fairmill.batch b
  set success_job = case when event = 'success' then (v_made ->> b.id::text)::bigint else b.success_job end,
      complete_job = case when event = 'complete' then (v_made ->> b.id::text)::bigint else b.complete_job end,
      death_job = case when event = 'death' then (v_made ->> b.id::text)::bigint else b.death_job end
  where b.id = any (v_due);
end
$$;
