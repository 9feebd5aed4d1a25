-- Enqueues the jobs that the channels of messages define for their ends, in the transaction that writes the ends: one
-- for each end, whichever session writes it.
--   messages  ids; the caller has just written their ends
-- These jobs, like those of messages in order, pass no check at enqueue: the transaction that ends a message can do
-- nothing about a refusal, and waits for no caller.
-- Locks: none: the caller has 10 message.
-- Plan expected: probes of the primary keys of outbox and channel_end.
create or replace function fairmill.enqueue_ends(messages bigint[])
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_ends jsonb;
  v_jobs fairmill.new_job[];
begin
  select jsonb_agg(c.job || jsonb_build_object('tenant', o.tenant, 'payload', jsonb_build_object(
      'outcome', case o.status when 'sent' then 'delivered' when 'unknown' then 'unknown' else 'failed' end,
      'status', o.status, 'messageId', o.id::text, 'channel', o.channel, 'tenant', o.tenant,
      'idempotencyKey', o.idempotency_key, 'reference', o.reference)) order by o.id)
    into v_ends
  from unnest(messages) as given (id)
  cross join lateral (select x.* from fairmill.outbox x where x.id = given.id offset 0) o
  cross join lateral (select x.job from fairmill.channel_end x where x.channel = o.channel offset 0) c;
  if v_ends is null then
    return;
  end if;
  v_jobs := fairmill.find_limit_keys(fairmill.parse_jobs(v_ends, '{}'));
  for n in 1 .. cardinality(v_jobs) loop
    if v_jobs[n].when_full is not null and v_jobs[n].state = 'ready' then
      -- Its promotion finds the slot: the caller has not locked the key.
      v_jobs[n].state := 'scheduled';
      v_jobs[n].run_at := coalesce(v_jobs[n].run_at, now());
    end if;
  end loop;
  perform fairmill.insert_jobs(v_jobs);
  perform fairmill.wake_v1(array(select distinct j.queue from unnest(v_jobs) as j where j.state = 'ready'),
    case when exists (select from unnest(v_jobs) as j where j.state = 'scheduled') then 0 end);
end
$$;
