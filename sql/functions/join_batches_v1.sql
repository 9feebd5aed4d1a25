-- May these jobs become members of their batches? Part of enqueue_many_v1.
--   jobs, shared  as enqueue_many_v1 has them
-- Result: refusals, an object by position: {"3": {"code": …}}, or null. A batch that is over, or is being cancelled, takes no more.
-- Locks: the batches by id, FOR KEY SHARE: whoever counts their members does not wait for it, but nobody ends such a batch before this
-- transaction has. Taken first of all, like whoever ends a batch takes its lock before he enqueues its callbacks.
-- Plan expected: the primary key of batch.
create or replace function fairmill.join_batches_v1(jobs jsonb, shared jsonb)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_batch bigint := (shared ->> 'batch')::bigint;
  v_asked bigint[] := array(select distinct coalesce((e.job ->> 'batch')::bigint, v_batch) from jsonb_array_elements(jobs) as e (job)
                            where e.job ? 'batch' or v_batch is not null);
  v_open  bigint[];
begin
  with held as (
    select b.id, b.state, b.cancel_requested_at from fairmill.batch b where b.id = any (v_asked) order by b.id for key share)
  select coalesce(array_agg(h.id), '{}') into v_open from held h where h.state = 'pending' and h.cancel_requested_at is null;
  if cardinality(v_open) = cardinality(v_asked) then
    return null;
  end if;
  return (
    select jsonb_object_agg(e.n::text, jsonb_build_object('code', 'FAIRMILL_BATCH_ENDED', 'batch', asked.batch::text))
    from jsonb_array_elements(jobs) with ordinality as e (job, n)
    cross join lateral (select coalesce((e.job ->> 'batch')::bigint, v_batch) as batch) asked
    where asked.batch is not null and asked.batch <> all (v_open));
end
$$;
