-- Stores a new job like one that has ended, with the changes that are given, and notes in rerun_of where it comes from.
-- The old one stays as it is.
--   changes  an object: payload, key, priority, max_attempts, run_at, delay_ms, expire_ms, timeout_ms, tags, trace,
--            idempotency_key, content (the file of another payload). What it does not name is taken from the old job;
--            kind, tenant and queue always are. Time to live, idempotency key and unique key of the old job do not
--            count.
--   alone    as in enqueue_many_v1
-- Result: the new job's id and an answer: stored; known (the idempotency key was, and id is that job's); refused (by a
-- limit at enqueue: refused says which); live (the job has not ended: cancel it first); delivery (it delivers a
-- message: publish another one instead, with a key of its own); not_found.
-- Locks: as enqueue_many_v1, then 8 job (the one that it made).
create or replace function fairmill.rerun_v1(job_id bigint, changes jsonb default '{}', alone boolean default false,
  out id bigint, out answer text, out refused jsonb)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_old     fairmill.job_history;
  v_made    record;
  v_price   jsonb;
begin
  if jsonb_typeof(changes) is distinct from 'object' then
    raise exception 'changes must be a JSON object' using errcode = 'FM001',
      hint = 'Pass {"payload": {…}}, or {} to change nothing.';
  end if;
  perform fairmill.check_fields(changes, '{payload,key,priority,max_attempts,run_at,delay_ms,expire_ms,timeout_ms,'
    'tags,trace,idempotency_key,content}', 'changes');
  select * into v_old from fairmill.job_history h where h.id = job_id limit 1;
  if not found then
    answer := case when exists (select from fairmill.job j where j.id = job_id) then 'live' else 'not_found' end;
    return;
  end if;
  if v_old.outbox is not null then
    answer := 'delivery';
    return;
  end if;
  -- What the old one cost, the new one costs.
  select jsonb_build_object('account', e.account, 'amount', e.amount) into v_price
  from fairmill.credit_entry e
  where e.id = v_old.reservation;
  select m.* into v_made from fairmill.enqueue_many_v1(jsonb_build_array(
      jsonb_build_object('kind', v_old.kind, 'tenant', v_old.tenant, 'queue', v_old.queue, 'priority', v_old.priority,
        'max_attempts', v_old.max_attempts, 'key', v_old.key, 'payload', v_old.payload,
        'timeout_ms', v_old.timeout_ms, 'tags', v_old.tags, 'uses', fairmill.uses_again(v_old.uses))
      || fairmill.content_of(v_old.payload) || coalesce(v_price, '{}')
      || case when changes ? 'payload' then '{"content": null}' else '{}'::jsonb end || changes),
    alone => alone) m;
  id := v_made.id;
  refused := v_made.refused;
  answer := case when refused is not null then 'refused' when v_made.created then 'stored' else 'known' end;
  if answer = 'stored' then
    -- Afterwards, so that enqueues of thousands of jobs do not pay for a column that hardly any job has.
    update fairmill.job j set rerun_of = job_id where j.id = v_made.id;
  end if;
end
$$;
