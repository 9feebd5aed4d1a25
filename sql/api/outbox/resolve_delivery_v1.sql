-- Records what became of a message that was given up or needs review, after an operator has checked with the receiver.
--   message_id  in the outbox
--   verdict     sent (it arrived), failed (it did not, and is not sent again), resend (it did not: its job goes back to
--               the queue)
--   by, reason  the operator and the reason, for the record in attempts
-- Result: resolved; known (it was resolved before); open (its delivery is under way, or it was sent: there is nothing
-- to resolve); order_busy (it is to be sent again, but another message of its order key is under way: call again
-- later); not_found.
-- Locks: 7 ended job, 10 message; to resend also as retry_v1. Of two at once the second finds what the first decided.
-- Plan expected: the row, and its job in the history, by their primary keys.
create or replace function fairmill.resolve_delivery_v1(message_id bigint, verdict text, by text default null,
  reason text default null)
returns text
language plpgsql
as $$
#variable_conflict use_column
declare
  v_job_id   bigint;
  v_ended_at timestamptz;
  v_row      fairmill.outbox;
  v_back     record;
  v_made     record;
begin
  if verdict is null or verdict not in ('sent', 'failed', 'resend') then
    raise exception 'a delivery cannot be resolved as "%"', verdict using errcode = 'FM001',
      hint = 'Say sent, failed or resend.';
  end if;
  select o.job_id into v_job_id from fairmill.outbox o where o.id = message_id;
  -- Jobs before rows, as everywhere.
  select h.ended_at into v_ended_at from fairmill.job_history h where h.id = v_job_id for update;
  select * into v_row from fairmill.outbox o where o.id = message_id for update;
  if not found then
    return 'not_found';
  end if;
  if v_row.status = verdict then
    return 'known';
  end if;
  if v_row.status not in ('unknown', 'failed', 'skipped') then
    return 'open';
  end if;
  update fairmill.outbox o
  set status = case when verdict = 'sent' then 'sent' else 'failed' end,
    attempts = fairmill.add_attempt(o.attempts, jsonb_strip_nulls(jsonb_build_object(
      'at', clock_timestamp(), 'outcome', 'resolved', 'as', verdict, 'by', coalesce(by, session_user::text),
      'reason', reason)))
  where o.id = message_id;
  if verdict <> 'resend' then
    -- A message that was skipped has failed already for the jobs that its channel enqueues at an end.
    if v_row.status <> 'skipped' or verdict = 'sent' then
      perform fairmill.enqueue_ends(array[message_id]);
    end if;
    return 'resolved';
  end if;

  if v_ended_at is null then
    -- Retention has removed the job; the message is still there.
    if cardinality(fairmill.reopen_messages(array[message_id])) > 0 then
      select m.* into v_made from fairmill.enqueue_many_v1(jsonb_build_array(
        fairmill.delivery_job(jsonb_build_object('channel', v_row.channel, 'tenant', v_row.tenant))
        || jsonb_build_object('outbox', message_id))) m;
      if v_made.id is null then
        raise exception 'a limit of channel "%" does not let the message in now', v_row.channel using errcode = 'FM010',
          detail = v_made.refused::text;
      end if;
      update fairmill.outbox o set job_id = v_made.id where o.id = message_id;
      return 'resolved';
    end if;
  else
    select * into v_back from fairmill.revive(array[v_job_id], array[v_ended_at]);
    if cardinality(v_back.brought) > 0 then
      perform fairmill.finish_transitions(v_back.queues, v_back.keys, revived => v_back.members);
      return 'resolved';
    end if;
  end if;
  -- Nothing was decided: the row stays as it was.
  update fairmill.outbox o set status = v_row.status, attempts = v_row.attempts where o.id = message_id;
  return 'order_busy';
end
$$;
