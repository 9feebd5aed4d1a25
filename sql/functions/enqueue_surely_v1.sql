-- Stores jobs that somebody waits for: nodes and callbacks. One that a limit refuses, or an account that has too little, is stored as dead
-- with that reason: it can be looked at and retried, and the batch that it belongs to counts it.
--   jobs  as enqueue_many_v1 takes them. Result: their ids in the order given
-- Locks: as enqueue_many_v1.
create or replace function fairmill.enqueue_surely_v1(jobs jsonb)
returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_ids      bigint[];
  v_refusals jsonb[];
  v_dead     jsonb;      -- by batch, how many were refused
  v_batches  bigint[];
begin
  select array_agg(e.id order by e.n), array_agg(e.refused order by e.n) into v_ids, v_refusals
  from fairmill.enqueue_many_v1(jobs, partial => true) with ordinality as e (id, created, conflict, refused, n);
  if array_position(v_ids, null) is null then
    return v_ids;
  end if;
  v_ids := array(select coalesce(i.id, nextval('fairmill.job_id_seq')) from unnest(v_ids) with ordinality as i (id, n) order by i.n);
  insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant, kind, key, throttled, batch,
    created_at, ended_at, payload, error)
  select v_ids[e.n], 0, coalesce((e.job ->> 'priority')::smallint, 0), 0, 0, coalesce((e.job ->> 'max_attempts')::smallint, 3), 'dead',
    coalesce(e.job ->> 'queue', 'default'), coalesce(e.job ->> 'tenant', 'default'), e.job ->> 'kind', e.job ->> 'key', 0, (e.job ->> 'batch')::bigint,
    now(), clock_timestamp(), coalesce(e.job -> 'payload', '{}'),
    v_refusals[e.n] || jsonb_build_object('message', 'The job was refused when its turn came: ' || (v_refusals[e.n] ->> 'code') || '.')
  from jsonb_array_elements(jobs) with ordinality as e (job, n) where v_refusals[e.n] is not null;
  select jsonb_object_agg(refused.batch, refused.jobs), array_agg(refused.batch::bigint) into v_dead, v_batches
  from (select e.job ->> 'batch' as batch, count(*) as jobs from jsonb_array_elements(jobs) with ordinality as e (job, n)
        where v_refusals[e.n] is not null and e.job ? 'batch' group by 1) refused;
  update fairmill.batch b set dead = b.dead + (v_dead ->> b.id::text)::integer where b.id = any (v_batches);
  if v_batches is not null then
    perform fairmill.mourn_v1(v_batches);
  end if;
  return v_ids;
end
$$;
