-- Says that running delivery jobs are about to send their messages: durable before the first byte leaves. Fenced like a
-- settle.
--   worker_id, ids, leases  the worker and the leases that it runs them under, sorted by id
--   runs      beside ids: a unique text for each run of a job. The fence alone does not tell two runs apart: a claim
--             that a crash of the server undid may be made again by the same worker, under the same number
--   resends   beside ids: send although an earlier attempt may have arrived, because the receiver knows the key or was
--             asked
-- Result: one row per job, in no particular order. answer is one of
--   send       it is marked as being sent, under this lease: go ahead, with what the row says
--   uncertain  an earlier attempt began to send it since_ms ago, and it is unknown whether it arrived. Nothing was
--              written; with what the row says one can ask the receiver
--   over       the message has its end, or is gone
--   busy       another session has the job locked: call again
--   lost       the lease was lost; nothing was written
-- Repeating a call is safe: a begin of the same run that has no outcome yet is the same begin.
-- Locks: 8 job (those that are free), 10 message. Jobs that others hold are skipped, because those beside them shall
-- not wait.
-- Plan expected: the primary key of job by the ids, nested loops from there to that of outbox.
create or replace function fairmill.begin_sends_v1(worker_id text, ids bigint[], leases bigint[],
  runs text[] default null, resends boolean[] default null)
returns table (job_id bigint, answer text, message_id bigint, idempotency_key text, payload jsonb, tries integer,
  since_ms float8)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_at   timestamptz := clock_timestamp();
  v_jobs bigint[];
  v_rows bigint[];
begin
  select array_agg(held.id), array_agg(held.outbox) into v_jobs, v_rows
  from (
    select j.id, j.outbox from fairmill.job j
    where j.id = any (ids) and j.lease_no = leases[array_position(ids, j.id)]
      and j.worker is not distinct from worker_id and worker_id is not null and j.outbox is not null
    order by j.id for no key update skip locked) held;

  return query
  with asked as materialized (
    select given.id, given.lease_no, runs[given.n] as run, coalesce(resends[given.n], false) as resend,
      v_rows[array_position(v_jobs, given.id)] as outbox, given.id = any (v_jobs) as is_held
    from unnest(ids, leases) with ordinality as given (id, lease_no, n)),
  found as materialized (
    select a.id, a.lease_no, a.run, o.id as message_id, o.status, o.idempotency_key, o.payload,
      jsonb_array_length(o.attempts) + coalesce(jsonb_path_query_first(o.attempts, '$[*].dropped')::integer, 0)
        as tries,
      coalesce(o.status = 'sending' and o.attempts -> -1 ->> 'worker' = worker_id
        and (o.attempts -> -1 ->> 'lease_no')::bigint = a.lease_no and o.attempts -> -1 ->> 'run' = a.run
        and not o.attempts -> -1 ? 'outcome', false) as is_repeat,
      a.resend, extract(epoch from v_at - (o.attempts -> -1 ->> 'at')::timestamptz)::float8 * 1000 as since_ms
    from asked a
    join fairmill.outbox o on o.id = a.outbox
    order by o.id for no key update of o),
  begun as (
    update fairmill.outbox o
    set status = 'sending', attempts = case when f.is_repeat then o.attempts
      else fairmill.add_attempt(o.attempts, jsonb_strip_nulls(
        jsonb_build_object('at', v_at, 'worker', worker_id, 'lease_no', f.lease_no, 'run', f.run))) end
    from found f
    where o.id = f.message_id and (f.status = 'pending' or f.status = 'sending' and (f.resend or f.is_repeat))
    returning f.id,
      jsonb_array_length(o.attempts) + coalesce(jsonb_path_query_first(o.attempts, '$[*].dropped')::integer, 0)
        as tries)
  select a.id,
    case when b.id is not null then 'send'
      when f.status = 'sending' then 'uncertain'
      when a.is_held then 'over'
      when (
          select j.id from fairmill.job j
          where j.id = a.id and j.lease_no = a.lease_no and j.worker is not distinct from worker_id
            and j.outbox is not null) is not null then 'busy'
      else 'lost' end,
    f.message_id, f.idempotency_key, f.payload, coalesce(b.tries, f.tries), f.since_ms
  from asked a
  left join found f on f.id = a.id
  left join begun b on b.id = a.id;
end
$$;
